"""The experiments of the papers: a suite or a study each, with the claims that are checked on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    heteroscedastic,
    lazy,
    lemmas,
    mixtures,
    noise_free,
    reds,
    starvation,
    theorems,
    uhe,
)
from leaderboards.claims.claim import Claim, Scope
from leaderboards.claims.runs import Runs


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


_PROVEN = re.compile(r"(abstract; )?(Theorem|Proposition|Corollary|Lemma)|.*\bbounds?\b|section 3.2, after Theorem")


def _experiment(
    name: str, paper: str, claims: Iterable[Claim], quick: Quick, scope: Scope = "experiment", **more: Any
) -> Experiment:
    """An experiment with what was tried in the notes of its claims, and what each is of."""
    noted = []
    for one in claims:
        texts = [note["text"] for note in TRIED.get(name, ()) if one.name in note["claims"]]
        is_of: Scope = one.scope if one.scope == "ours" else "theorem" if _PROVEN.match(one.source) else scope
        noted.append(replace(one, note=" ".join([one.note, *texts]).strip(), scope=is_of))
    return Experiment(name, paper, tuple(noted), quick, scope=scope, **more)


_BUCB = ("GP-UCB", "GP-BUCB", "NRB-UCB", "NTB-UCB")
_BPE_QUICK = Quick(4, None, ("GP-UCB", "BPE", "3-BPE", "6-BPE", "Fixed 3-BPE"))
_BBKB_QUICK = Quick(8, 1_000, ("BBKB", "EpsGreedy", "Uniform"))
_UHE = ("MAP-UCB", "MCMC-UCB")


def _experiments() -> Iterator[Experiment]:
    yield _experiment("bkb-fig1", "bkb", starvation.CLAIMS, Quick(20), study=starvation.study, repetitions=200)
    yield _experiment("bbkb-abalone", "bbkb", bbkb.abalone(), _BBKB_QUICK)
    yield _experiment("bbkb-cadata", "bbkb", bbkb.cadata(), replace(_BBKB_QUICK, repetitions=4))
    scalings = Quick(3, 1_000, ("BBKB", "Uniform"), ("Abalone, standard",))
    yield _experiment("bbkb-scalings", "bbkb", bbkb.scalings(), scalings)
    short = Quick(8, 400, environments=("NASBench201",))
    claims, columns = bbkb_nas.architectures("NASBench201"), bbkb_nas.COLUMNS
    yield _experiment("bbkb-nas", "bbkb", claims, short, "ours", columns=columns)
    short = Quick(3, 1_000, environments=("NASBench101",))
    yield _experiment("bbkb-nas101", "bbkb", bbkb_nas.architectures("NASBench101"), short, columns=columns)
    yield _experiment("gpbucb-matern", "gp-bucb", gp_bucb.matern(), Quick(8, 60, _BUCB))
    yield _experiment("gpbucb-se", "gp-bucb", gp_bucb.se(), Quick(8, 60, _BUCB))
    yield _experiment("gpbucb-cosines", "gp-bucb", gp_bucb.cosines(), Quick(8, 60, _BUCB))
    yield _experiment("gpbucb-rosenbrock", "gp-bucb", gp_bucb.rosenbrock(), Quick(8, 60, (*_BUCB, "Uniform")))
    yield _experiment("gpbucb-lazy", "gp-bucb", lazy.CLAIMS, Quick(2), study=lazy.study, repetitions=500)
    yield _experiment("gpbucb-vaccine", "gp-bucb", gp_bucb.vaccine(), Quick(40, None, _BUCB))
    yield _experiment("gpbucb-neuro", "gp-bucb", gp_bucb.neuro(), Quick(4, None, ("GP-BUCB", "SM-UCB")), scope="ours")
    yield _experiment("bpe-authors", "bpe", bpe.drawn(), Quick(6, None, ("GP-UCB, beta 6", "6-BPE, beta 6")))
    yield _experiment("bpe-f1", "bpe", bpe.f1(), _BPE_QUICK, scope="ours")
    yield _experiment("bpe-f2", "bpe", bpe.f2(), _BPE_QUICK, scope="ours")
    synthetic = Quick(12, 20, ("UHE-BO, noise data", *_UHE), ("Deceptive",))
    yield _experiment("uhe-synthetic", "uhe-bo", uhe.synthetic(), synthetic)
    yield _experiment("uhe-real", "uhe-bo", uhe.real(), Quick(6, 20, ("UHE-BO", *_UHE), ("XGBoost",)))
    study = estimates.study
    yield _experiment("uhe-estimates", "uhe-bo", estimates.CLAIMS, Quick(4), "ours", study=study, repetitions=20)
    yield _experiment(
        "batch-vs-theory",
        "bbkb",
        theorems.CLAIMS,
        Quick(3, 600, ("GP-BUCB, B = 5", "BBKB, Theorem 1", "BBKB, Theorem 2", "BPE")),
        columns=theorems.COLUMNS,
        scope="theorem",
    )
    ignored = Quick(30, 400, ("GP-UCB", "GP-UCB, context ignored"), ("8 contexts",))
    yield _experiment("contexts", "krause-ong", contexts.CLAIMS, ignored, scope="ours")
    drifting = Quick(24, 250, ("GP-UCB", "TV-GP-UCB"), ("drift 0.01",))
    yield _experiment("drift", "bogunovic", drift.CLAIMS, drifting, scope="ours")
    yield _experiment(
        "noise-free",
        "iwazaki-takeno",
        noise_free.CLAIMS,
        Quick(4, None, ("MVR", "PE", "GP-UCB"), ("SE", "Matern 3")),
        columns=noise_free.COLUMNS,
        scope="ours",
    )
    yield _experiment("lemmas", "bbkb", lemmas.CLAIMS, Quick(6), "theorem", study=lemmas.study)
    two = Quick(3, 100, ("theory", "DMM"), ("SE, d = 1", "Matern, d = 2"))
    yield _experiment("widths", "flynn-reeb", mixtures.CLAIMS, two, columns=mixtures.COLUMNS, scope="ours")
    yield _experiment(
        "heteroscedastic",
        "iwazaki-takeno",
        heteroscedastic.CLAIMS,
        Quick(6, None, ("PE", "VA-PE", "MVR", "VA-MVR"), ("0.1 to 1", "0.01 to 0.1")),
        columns=heteroscedastic.COLUMNS,
        scope="ours",
    )
    yield _experiment("corruption", "rgp-pe", corruption.CLAIMS, Quick(5, environments=("subtraction, C = 100",)))
    late = Quick(4, None, ("Uniform", "BPE-Delay", "GP-UCB-SDF"), ("no delay", "mean 50"))
    yield _experiment("bpe-delay", "bpe-delay", delay.CLAIMS, late)
    yield _experiment("reds", "reds", reds.CLAIMS, Quick(4, None, ("Uniform", "REDS", "BPE"), ("BPEF1",)), scope="ours")


EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({one.name: one for one in _experiments()})


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
