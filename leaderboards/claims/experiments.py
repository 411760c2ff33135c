"""The experiments of the papers: a suite or a study each, with the claims that are checked on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gpbandit_envs.arguments import did_you_mean
from leaderboards.claims import (
    bbkb,
    bbkb_nas,
    bpe,
    contexts,
    corruption,
    delay,
    drift,
    estimates,
    gp_bucb,
    guarantees,
    heteroscedastic,
    lazy,
    lemmas,
    noise_free,
    reds,
    starvation,
    theorems,
    tried,
    uhe,
    widths,
)
from leaderboards.claims.claim import Claim
from leaderboards.claims.runs import Runs

__all__ = ["EXPERIMENTS", "PAPERS", "Experiment", "Quick", "experiment"]

PAPERS: Mapping[str, str] = MappingProxyType(
    {
        "bkb": "Calandriello et al. (2019), Gaussian process optimization with adaptive sketching",
        "bbkb": "Calandriello et al. (2020), Near-linear time Gaussian process optimization with adaptive batching",
        "gp-bucb": "Desautels, Krause and Burdick (2012), Parallelizing exploration-exploitation tradeoffs with "
        "Gaussian process bandit optimization",
        "bpe": "Li and Scarlett (2022), Gaussian process bandit optimization with few batches",
        "uhe-bo": "Ha et al. (2023), Provably efficient Bayesian optimization with unbiased Gaussian process "
        "hyperparameter estimation",
        "krause-ong": "Krause and Ong (2011), Contextual Gaussian process bandit optimization",
        "bogunovic": "Bogunovic, Scarlett and Cevher (2016), Time-varying Gaussian process bandit optimization",
        "zhou-shroff": "Zhou and Shroff (2021), No-regret algorithms for time-varying Bayesian optimization",
        "deng": "Deng et al. (2022), Weighted Gaussian process bandits for non-stationary environments",
        "iwazaki-takeno": "Iwazaki and Takeno (2025), Improved regret analysis in Gaussian process bandits: optimality "
        "for noiseless reward, RKHS norm, and non-stationary variance",
        "iwazaki": "Iwazaki (2025), Gaussian process upper confidence bound achieves nearly-optimal regret in "
        "noise-free Gaussian process bandits",
        "rgp-pe": "Bogunovic et al. (2022), A robust phased elimination algorithm for corruption-tolerant Gaussian "
        "process bandits",
        "bpe-delay": "Vakili et al. (2023), Delayed feedback in kernel bandits",
        "reds": "Salgia, Vakili and Zhao (2024), Random exploration in Bayesian optimization",
        "flynn-reeb": "Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression",
    }
)


@dataclass(frozen=True)
class Quick:
    """The short form of an experiment.

    Attributes:
        repetitions: How many repetitions.
        horizon: Number of evaluations; the suite's if None.
        agents: Rows that its stable claims need; all if empty.
        environments: Environments that they need; all if empty.
    """

    repetitions: int
    horizon: int | None = None
    agents: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: Its name, and that of its suite if it has one.
        paper: Key of `PAPERS`: who makes those claims that name no paper of their own.
        claims: Claims of the paper on it.
        quick: Its short form.
        study: For an experiment without a bandit loop: makes the tables of so many repetitions.
        repetitions: How many repetitions a full study has.
        columns: Columns of the traces that its claims need besides `runs.COLUMNS`.
    """

    name: str
    paper: str
    claims: tuple[Claim, ...]
    quick: Quick
    study: Callable[[int], Runs] | None = None
    repetitions: int = 100
    columns: tuple[str, ...] = ()

    @property
    def papers(self) -> tuple[str, ...]:
        """Keys of the papers whose claims it checks, in the order of `PAPERS`."""
        papers = {claim.paper or self.paper for claim in self.claims}
        return tuple(paper for paper in PAPERS if paper in papers)


def _noted(claims: tuple[Claim, ...], notes: Mapping[str, str]) -> tuple[Claim, ...]:
    """Claims with what was tried where a verdict was not what the paper says."""
    unknown = set(notes) - {claim.name for claim in claims}
    if unknown:
        raise ValueError(f"notes: expected names of claims, got {sorted(unknown)}")
    return tuple(replace(one, note=f"{one.note} {notes.get(one.name, '')}".strip()) for one in claims)


_BUCB_QUICK = Quick(8, 60, ("GP-UCB", "GP-BUCB", "NRB-UCB", "NTB-UCB"))
_ROSENBROCK_QUICK = Quick(8, 60, (*_BUCB_QUICK.agents, "Uniform"))
_BPE_QUICK = Quick(4, None, ("GP-UCB", "BPE", "3-BPE", "6-BPE", "Fixed 3-BPE"))
_SCALINGS_QUICK = Quick(3, 1_000, ("BBKB", "Uniform"), ("Abalone, standard",))
_THEORY_QUICK = Quick(3, 600, ("GP-BUCB, B = 5", "BBKB, Theorem 1", "BBKB, Theorem 2", "BPE"))
_BBKB_QUICK = Quick(8, 1_000, ("BBKB", "EpsGreedy", "Uniform"))
_WIDTHS_QUICK = Quick(3, 100, ("theory", "DMM"), ("SE, d = 1", "Matern, d = 2"))
_DRIFT_QUICK = Quick(24, 250, ("GP-UCB", "TV-GP-UCB"), ("drift 0.01",))
_CONTEXTS_QUICK = Quick(30, 400, ("GP-UCB", "GP-UCB, context ignored"), ("8 contexts",))
_NOISE_FREE_QUICK = Quick(4, None, ("MVR", "PE", "GP-UCB"), ("SE", "Matern 3"))
_UHE_QUICK = ("MAP-UCB", "MCMC-UCB")
_HETEROSCEDASTIC_QUICK = Quick(6, None, ("PE", "VA-PE", "MVR", "VA-MVR"), ("0.1 to 1", "0.01 to 0.1"))
_CORRUPTION_QUICK = Quick(5, environments=("subtraction, C = 100",))
_DELAY_QUICK = Quick(4, None, ("Uniform", "BPE-Delay", "GP-UCB-SDF"), ("no delay", "mean 50"))
_REDS_QUICK = Quick(4, None, ("Uniform", "REDS", "BPE"), ("BPEF1",))

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        found.name: found
        for found in (
            Experiment("bkb-fig1", "bkb", starvation.CLAIMS, Quick(20), starvation.study),
            Experiment("bbkb-abalone", "bbkb", _noted(bbkb.abalone(), tried.ABALONE), _BBKB_QUICK),
            Experiment("bbkb-cadata", "bbkb", _noted(bbkb.cadata(), tried.CADATA), replace(_BBKB_QUICK, repetitions=4)),
            Experiment("bbkb-scalings", "bbkb", _noted(bbkb.scalings(), tried.SCALINGS), _SCALINGS_QUICK),
            *(
                Experiment(name, "bbkb", _noted(bbkb_nas.architectures(bench), notes), quick, columns=bbkb_nas.COLUMNS)
                for name, bench, notes, quick in (
                    ("bbkb-nas", "NASBench201", tried.NAS201, Quick(8, 400, environments=("NASBench201",))),
                    ("bbkb-nas101", "NASBench101", {}, Quick(3, 1_000, environments=("NASBench101",))),
                )
            ),
            Experiment("gpbucb-matern", "gp-bucb", gp_bucb.matern(), _BUCB_QUICK),
            Experiment("gpbucb-se", "gp-bucb", gp_bucb.se(), _BUCB_QUICK),
            Experiment("gpbucb-cosines", "gp-bucb", _noted(gp_bucb.cosines(), tried.COSINES), _BUCB_QUICK),
            Experiment(
                "gpbucb-rosenbrock", "gp-bucb", _noted(gp_bucb.rosenbrock(), tried.ROSENBROCK), _ROSENBROCK_QUICK
            ),
            Experiment("gpbucb-lazy", "gp-bucb", lazy.CLAIMS, Quick(2), lazy.study, 20),
            Experiment(
                "gpbucb-vaccine",
                "gp-bucb",
                gp_bucb.vaccine(),
                Quick(40, None, ("GP-UCB", "GP-BUCB", "NRB-UCB", "NTB-UCB")),
            ),
            Experiment("gpbucb-neuro", "gp-bucb", gp_bucb.neuro(), Quick(4, None, ("GP-BUCB", "SM-UCB"))),
            Experiment(
                "bpe-f1",
                "bpe",
                _noted(bpe.fixed_function("Fig. 3", "Fig. 5", "Fig. 7", "Fig. 9"), tried.F1),
                _BPE_QUICK,
            ),
            Experiment(
                "bpe-f2",
                "bpe",
                _noted(
                    (
                        *bpe.fixed_function("Fig. 4", "Fig. 6", "Fig. 8", "Fig. 10"),
                        *bpe.second_function("Fig. 4", "Fig. 10"),
                    ),
                    tried.F2,
                ),
                _BPE_QUICK,
            ),
            Experiment(
                "uhe-synthetic",
                "uhe-bo",
                _noted(uhe.synthetic(), tried.UHE),
                Quick(12, 20, ("UHE-BO, noise data", *_UHE_QUICK), ("Deceptive",)),
            ),
            Experiment(
                "uhe-real",
                "uhe-bo",
                _noted(uhe.real(), tried.UHE_REAL),
                Quick(6, 20, ("UHE-BO", *_UHE_QUICK), ("XGBoost",)),
            ),
            Experiment(
                "uhe-estimates", "uhe-bo", _noted(estimates.CLAIMS, tried.ESTIMATES), Quick(4), estimates.study, 20
            ),
            Experiment("batch-vs-theory", "bbkb", guarantees.CLAIMS, _THEORY_QUICK, columns=theorems.COLUMNS),
            Experiment("contexts", "krause-ong", contexts.CLAIMS, _CONTEXTS_QUICK),
            Experiment("drift", "bogunovic", drift.CLAIMS, _DRIFT_QUICK),
            Experiment(
                "noise-free", "iwazaki-takeno", noise_free.CLAIMS, _NOISE_FREE_QUICK, columns=noise_free.COLUMNS
            ),
            Experiment("lemmas", "bbkb", lemmas.CLAIMS, Quick(6), lemmas.study),
            Experiment("widths", "flynn-reeb", widths.CLAIMS, _WIDTHS_QUICK, columns=widths.COLUMNS),
            Experiment(
                heteroscedastic.SUITE,
                "iwazaki-takeno",
                heteroscedastic.CLAIMS,
                _HETEROSCEDASTIC_QUICK,
                columns=heteroscedastic.COLUMNS,
            ),
            Experiment("corruption", "rgp-pe", corruption.CLAIMS, _CORRUPTION_QUICK),
            Experiment("bpe-delay", "bpe-delay", delay.CLAIMS, _DELAY_QUICK),
            Experiment("reds", "reds", reds.CLAIMS, _REDS_QUICK),
        )
    }
)


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        ValueError: if there is none; it lists those whose names begin so, and those with claims of the paper that
            `name` is the key of.
    """
    if name not in EXPERIMENTS:
        meant = [one.name for one in EXPERIMENTS.values() if (name and one.name.startswith(name)) or name in one.papers]
        if meant:
            raise ValueError(f"name: no experiment {name!r}; expected one of {', '.join(meant)}")
        raise ValueError(f"name: no experiment {name!r}; {did_you_mean(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
