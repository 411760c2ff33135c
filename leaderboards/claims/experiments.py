"""The experiments of the papers: a suite or a study each, with the claims that are checked on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from types import MappingProxyType
from typing import Any

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
    uhe,
    widths,
)
from leaderboards.claims.claim import Claim, Scope
from leaderboards.claims.runs import Runs

__all__ = ["EXPERIMENTS", "PAPERS", "TRIED", "Experiment", "Quick", "experiment", "experiments_of"]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("leaderboards.claims") / name).read_text(encoding="utf-8"))


PAPERS: Mapping[str, str] = MappingProxyType(_read("papers.toml"))
"""The papers by key, in the order of the documentation."""

TRIED: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType(_read("tried.toml"))
"""By experiment, what was tried where a verdict is not what the paper says: `text`, and the `claims` that it is of."""


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
        scope: What its claims are of that say nothing else: the paper's experiment, or tasks of ours.
    """

    name: str
    paper: str
    claims: tuple[Claim, ...]
    quick: Quick
    study: Callable[[int], Runs] | None = None
    repetitions: int = 100
    columns: tuple[str, ...] = ()
    scope: Scope = "experiment"

    @property
    def papers(self) -> tuple[str, ...]:
        """Keys of the papers whose claims it checks, in the order of `PAPERS`."""
        papers = {claim.paper or self.paper for claim in self.claims}
        return tuple(paper for paper in PAPERS if paper in papers)


_PROVEN = re.compile(r"(abstract; )?(Theorem|Proposition|Corollary|Lemma)|.*\bbounds?\b|section 4, after Theorem")


def _noted(found: Experiment) -> Experiment:
    """The experiment with what was tried in the notes of its claims, and what each is of."""
    claims = []
    for one in found.claims:
        texts = [note["text"] for note in TRIED.get(found.name, ()) if one.name in note["claims"]]
        scope: Scope = "theorem" if _PROVEN.match(one.source) else found.scope
        claims.append(replace(one, note=" ".join([one.note, *texts]).strip(), scope=scope))
    return replace(found, claims=tuple(claims))


_BUCB_QUICK = Quick(8, 60, ("GP-UCB", "GP-BUCB", "NRB-UCB", "NTB-UCB"))
_ROSENBROCK_QUICK = Quick(8, 60, (*_BUCB_QUICK.agents, "Uniform"))
_BPE_QUICK = Quick(4, None, ("GP-UCB", "BPE", "3-BPE", "6-BPE", "Fixed 3-BPE"))
_DRAWN_QUICK = Quick(6, None, ("GP-UCB, beta 6", "6-BPE, beta 6"))
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

_ARCHITECTURES: Sequence[tuple[str, str, Quick, Scope]] = (
    ("bbkb-nas", "NASBench201", Quick(8, 400, environments=("NASBench201",)), "ours"),
    ("bbkb-nas101", "NASBench101", Quick(3, 1_000, environments=("NASBench101",)), "experiment"),
)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        found.name: _noted(found)
        for found in (
            Experiment("bkb-fig1", "bkb", starvation.CLAIMS, Quick(20), starvation.study, 200),
            Experiment("bbkb-abalone", "bbkb", bbkb.abalone(), _BBKB_QUICK),
            Experiment("bbkb-cadata", "bbkb", bbkb.cadata(), replace(_BBKB_QUICK, repetitions=4)),
            Experiment("bbkb-scalings", "bbkb", bbkb.scalings(), _SCALINGS_QUICK),
            *(
                Experiment(name, "bbkb", bbkb_nas.architectures(bench), quick, columns=bbkb_nas.COLUMNS, scope=scope)
                for name, bench, quick, scope in _ARCHITECTURES
            ),
            Experiment("gpbucb-matern", "gp-bucb", gp_bucb.matern(), _BUCB_QUICK),
            Experiment("gpbucb-se", "gp-bucb", gp_bucb.se(), _BUCB_QUICK),
            Experiment("gpbucb-cosines", "gp-bucb", gp_bucb.cosines(), _BUCB_QUICK),
            Experiment("gpbucb-rosenbrock", "gp-bucb", gp_bucb.rosenbrock(), _ROSENBROCK_QUICK),
            Experiment("gpbucb-lazy", "gp-bucb", lazy.CLAIMS, Quick(2), lazy.study, 500),
            Experiment(
                "gpbucb-vaccine",
                "gp-bucb",
                gp_bucb.vaccine(),
                Quick(40, None, ("GP-UCB", "GP-BUCB", "NRB-UCB", "NTB-UCB")),
            ),
            Experiment("gpbucb-neuro", "gp-bucb", gp_bucb.neuro(), Quick(4, None, ("GP-BUCB", "SM-UCB")), scope="ours"),
            Experiment("bpe-authors", "bpe", bpe.drawn(), _DRAWN_QUICK),
            Experiment("bpe-f1", "bpe", bpe.f1(), _BPE_QUICK, scope="ours"),
            Experiment("bpe-f2", "bpe", bpe.f2(), _BPE_QUICK, scope="ours"),
            Experiment(
                "uhe-synthetic",
                "uhe-bo",
                uhe.synthetic(),
                Quick(12, 20, ("UHE-BO, noise data", *_UHE_QUICK), ("Deceptive",)),
            ),
            Experiment(
                "uhe-real",
                "uhe-bo",
                uhe.real(),
                Quick(6, 20, ("UHE-BO", *_UHE_QUICK), ("XGBoost",)),
            ),
            Experiment("uhe-estimates", "uhe-bo", estimates.CLAIMS, Quick(4), estimates.study, 20),
            Experiment(
                "batch-vs-theory",
                "bbkb",
                guarantees.CLAIMS,
                _THEORY_QUICK,
                columns=theorems.COLUMNS,
                scope="theorem",
            ),
            Experiment("contexts", "krause-ong", contexts.CLAIMS, _CONTEXTS_QUICK, scope="ours"),
            Experiment("drift", "bogunovic", drift.CLAIMS, _DRIFT_QUICK, scope="ours"),
            Experiment(
                "noise-free",
                "iwazaki-takeno",
                noise_free.CLAIMS,
                _NOISE_FREE_QUICK,
                columns=noise_free.COLUMNS,
                scope="ours",
            ),
            Experiment("lemmas", "bbkb", lemmas.CLAIMS, Quick(6), lemmas.study, scope="theorem"),
            Experiment("widths", "flynn-reeb", widths.CLAIMS, _WIDTHS_QUICK, columns=widths.COLUMNS, scope="ours"),
            Experiment(
                heteroscedastic.SUITE,
                "iwazaki-takeno",
                heteroscedastic.CLAIMS,
                _HETEROSCEDASTIC_QUICK,
                columns=heteroscedastic.COLUMNS,
                scope="ours",
            ),
            Experiment("corruption", "rgp-pe", corruption.CLAIMS, _CORRUPTION_QUICK),
            Experiment("bpe-delay", "bpe-delay", delay.CLAIMS, _DELAY_QUICK),
            Experiment("reds", "reds", reds.CLAIMS, _REDS_QUICK, scope="ours"),
        )
    }
)


def experiments_of(key: str) -> tuple[Experiment, ...]:
    """The experiments with claims of the paper that `key` is the key of in `PAPERS`; none if it is no paper's."""
    return tuple(one for one in EXPERIMENTS.values() if key in one.papers)


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
