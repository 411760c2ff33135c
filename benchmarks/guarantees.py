"""What bands and choices are worth: `python -m benchmarks.guarantees [--repetitions 1000]`.

A band is one thing, a choice another. Every band is read along the pulls of several players, an adversary among them,
and every rule of choice has its regret and, along its own pulls, the half-width of the bands that may be stated there.
The numbers are kept in the package, and `leaderboards.audit.bands` says what follows from them.

The adversary is one fixed strategy against one band, chosen on other functions and noise (`--search` prints how).
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import STRATEGIES, Adversary, BandOnPath, Paths, Player, Policy, along
from leaderboards.api.simulate import simulate
from leaderboards.audit.bands import Cell, Regret, least_held, read_study
from leaderboards.work.executors import in_processes

KEPT = Path(__file__).parents[1] / "leaderboards" / "audit" / "bands.json"
DELTA, HORIZON, ARMS = 0.1, 80, 64
REPETITIONS, CHUNK = 1000, 200
FEWER = 0.3  # as many of rules that are there for their regret, whose bands are read along other players too
SEARCHED = 20_270_101  # root seed of the adversary's search: no function or noise of the study

Named = tuple[str, Mapping[str, Any]]


def most_confirmed(runs: int, delta: float) -> int:
    """Largest number of violated runs that confirms a row, -1 if even none does."""
    k = -1
    while k < runs and least_held(k + 1, runs) >= 1 - delta:
        k += 1
    return k


def _rkhs(dim: int, norm: float, lengthscale: float, nu: float | None = None, **others: Any) -> Named:
    kernel = {"name": "se"} if nu is None else {"name": "matern", "nu": nu}
    stated = {"kernel": {**kernel, "lengthscale": lengthscale}, "noise_std": 0.1, "n_arms": ARMS}
    return "GPBandit/RKHS-v0", {**stated, "dim": dim, "norm": norm, **others}


def _table(id: str) -> Named:
    return id, {"certified": True, "noise": "gaussian", "noise_std": 0.1, "rows": ARMS}


KNOWN: Mapping[str, Named] = {
    "SE, d = 1": _rkhs(1, 1.0, 0.1),
    "SE, d = 2": _rkhs(2, 2.0, 0.2),
    "Matern, d = 2": _rkhs(2, 2.0, 0.3, 2.5),
    "SE, d = 2, bounded noise": _rkhs(2, 2.0, 0.2, noise="bounded"),
    "SE, d = 2, noise 1": _rkhs(2, 0.5, 0.2, noise_std=1.0),
    # All of the norm is in one bump, so that a prior band has nothing to spare at its top.
    "one bump": _rkhs(1, 5.0, 0.1, n_centres=1),
    # kappa^2 T < 1, where the printed logarithm of BKB's width is negative; no correlation, and next to no signal.
    "independent arms": _rkhs(
        1, 0.005, 0.0, noise_std=0.03, n_arms=30, kernel={"name": "se", "lengthscale": 0.0008, "variance": 0.009}
    ),
}
"""Tasks whose mean is of the stated norm."""
NEAR: Mapping[str, Named] = {
    "SE, d = 2, off by 0.05": _rkhs(2, 2.0, 0.2, misspecification={"sup": 0.05}),
    "Matern, d = 2, off by 0.2": _rkhs(2, 2.0, 0.3, 2.5, misspecification={"sup": 0.2}),
    "OERPlates": _table("GPBandit/OERPlates-v0"),
    "CrossedBarrel": _table("GPBandit/CrossedBarrel-v0"),
}
"""Tasks whose mean is only near such functions, by proven distances; rows of tables are drawn anew."""
DRAWN: Mapping[str, Named] = {
    "draws, SE, d = 2": (
        "GPBandit/GPSample-v0",
        {"n_arms": ARMS, "dim": 2, "noise_std": 0.1, "kernel": {"name": "se", "lengthscale": 0.2}},
    ),
    "draws, Matern, d = 1": (
        "GPBandit/GPSample-v0",
        {"n_arms": ARMS, "dim": 1, "noise_std": 0.1, "kernel": {"name": "matern", "lengthscale": 0.2, "nu": 2.5}},
    ),
}
"""Tasks whose mean is a draw from the stated prior."""
TASKS: Mapping[str, Named] = {**KNOWN, **NEAR, **DRAWN}


@dataclass(frozen=True)
class Band:
    """A band of the study.

    Attributes:
        label: Its name.
        agents: The policies whose bands are intersected.
        tasks: The names of `TASKS` on which it is read.
        reach: Along whose pulls it is read: "any" player's, with the adversary; "data", any but the adversary's, who
            knows what a draw from the prior is; "own", those of its policy alone.
        control: Why it must fail somewhere; "" if it need not.
    """

    label: str
    agents: tuple[Named, ...]
    tasks: tuple[str, ...]
    reach: str = "any"
    control: str = ""


def _ucb(delta: float = DELTA, id: str = "GP-UCB", **settings: Any) -> Named:
    return id, {"delta": delta, **settings}


_KNOWN, _NEAR, _DRAWN = tuple(KNOWN), tuple(NEAR), tuple(DRAWN)
_REGULARISERS = (0.01, 1.0, 100.0, 1000.0)

BANDS: Sequence[Band] = (
    Band("Chowdhury and Gopalan", (_ucb(width="theory"),), _KNOWN),
    Band("Abbasi-Yadkori", (_ucb(width="ay"),), _KNOWN),
    # Their regulariser is a power of the horizon where the eigenvalues fall like a power, and elsewhere no number.
    Band("Whitehouse et al.", (_ucb(width="ay", lam={"smoothness": 1.0}),), ("Matern, d = 2",)),
    Band("AMM", (_ucb(width="amm"),), _KNOWN),
    Band("DMM", (_ucb(width="dmm"),), _KNOWN),
    Band("likelihood ratio", (_ucb(width="lr"),), _KNOWN),
    Band("DMM with slack", (_ucb(width="dmm-slack"),), _NEAR),
    Band("EC, AMM", (_ucb(id="EC-GP-UCB", width="amm"),), _NEAR),
    # Proven for every regulariser that is fixed before feedback: the best of four, at delta / 4 each.
    Band(
        "EC, AMM, best of 4 regularisers",
        tuple(
            _ucb(DELTA / len(_REGULARISERS), "EC-GP-UCB", width="amm", lam=lam, norm_bound=None)
            for lam in _REGULARISERS
        ),
        _NEAR,
    ),
    Band("Bayesian, all arms", (_ucb(width="bayes"),), _DRAWN, "data"),
    Band("MVR", (_ucb(id="MVR", width="sub-gaussian"),), _KNOWN, "own"),
    Band("BPE", (_ucb(id="BPE", width="sub-gaussian"),), _KNOWN, "own"),
    Band("REDS", (_ucb(id="REDS", width="sub-gaussian"),), _KNOWN, "own"),
    Band("GP-BUCB, AMM", (_ucb(id="GP-BUCB", width="amm", batch_size=10),), _KNOWN, "own"),
    Band("GP-AUCB, AMM", (_ucb(id="GP-AUCB", width="amm"),), _KNOWN, "own"),
    # On a sketch, with the oversampling of the theorem: 72 C log(4 T / delta), C = 1 and 2; BBKB's asks for lam >= 1.
    Band(
        "BKB", (_ucb(id="BKB", width="proven", qbar=600.0),), ("SE, d = 2", "Matern, d = 2", "independent arms"), "own"
    ),
    Band("BBKB", (_ucb(id="BBKB", width="theory", qbar=1200.0),), ("SE, d = 2, noise 1",), "own"),
    Band(
        "BKB, as printed",
        (_ucb(id="BKB", width="theory", qbar=600.0),),
        ("independent arms",),
        "own",
        "log(kappa^2 t) is below what its proof needs",
    ),
    Band("width 1", (_ucb(width=1.0),), _KNOWN, "any"),
    Band("width 2", (_ucb(width=2.0),), _KNOWN, "any"),
    Band("width 3", (_ucb(width=3.0),), _KNOWN, "any"),
    Band(
        "AMM, a third of the norm", (_ucb(width="amm", norm_bound={"times": 1 / 3}),), _KNOWN, "any", "norm too small"
    ),
    Band("DMM, times 0.95", (), _KNOWN, "any", "DMM is multiplied by less than 1"),
    Band("AMM, times 0.8", (), _KNOWN, "any", "AMM is multiplied by less than 1"),
    Band("Whitehouse et al., times 0.4", (), ("Matern, d = 2",), "any", "it is multiplied by less than 1"),
)
_SCALED = {
    "DMM, times 0.95": ("DMM", 0.95),
    "AMM, times 0.8": ("AMM", 0.8),
    "Whitehouse et al., times 0.4": ("Whitehouse et al.", 0.4),
}
"""Read off the band itself: it holds multiplied by c in a run that requires at most c."""

RULES: Mapping[str, Named] = {
    "Uniform": ("Uniform", {}),
    "GP-EI": ("GP-EI", {}),
    "GP-UCB, width 1": _ucb(width=1.0),
    "GP-UCB, width 2": _ucb(width=2.0),
    "GP-UCB, Bayesian": _ucb(width="bayes"),
    "IRGP-UCB": ("IRGP-UCB", {}),
    "GP-UCB, Chowdhury and Gopalan": _ucb(width="theory"),
    "GP-UCB, AMM": _ucb(width="amm"),
    "GP-UCB, DMM": _ucb(width="dmm"),
    "GP-UCB, DMM with slack": _ucb(width="dmm-slack"),
    "GP-UCB, likelihood ratio": _ucb(width="lr"),
    "EC-GP-UCB, AMM": _ucb(id="EC-GP-UCB", width="amm"),
    "MVR": _ucb(id="MVR", width="sub-gaussian"),
    "BPE": _ucb(id="BPE", width="sub-gaussian"),
    "REDS": _ucb(id="REDS", width="sub-gaussian"),
    "GP-BUCB, AMM": _ucb(id="GP-BUCB", width="amm", batch_size=10),
    "GP-AUCB, AMM": _ucb(id="GP-AUCB", width="amm"),
    **{band.label: band.agents[0] for band in BANDS if "BKB" in band.label},
}
"""Who chooses."""
_ALONE = tuple(band.label for band in BANDS if "BKB" in band.label)  # these have no form that plays side by side
BESIDE = ("Uniform", "GP-EI", "GP-UCB, width 1")
"""Rules beside which all bands are read; beside the others their own and the tightest."""
ADVERSARY = "adversary"
AGAINST: Mapping[str, tuple[str, Any]] = {
    **dict.fromkeys(KNOWN, ("AMM", "edge")),
    **dict.fromkeys(NEAR, ("DMM with slack", "above")),
}
"""Band and strategy of the adversary by task, as `--search` has found them."""
TIGHTEST = ("DMM", "DMM with slack")
"""Bands that are read beside every rule."""
OWN = {
    "Chowdhury and Gopalan": "GP-UCB, Chowdhury and Gopalan",
    "AMM": "GP-UCB, AMM",
    "DMM": "GP-UCB, DMM",
    "DMM with slack": "GP-UCB, DMM with slack",
    "likelihood ratio": "GP-UCB, likelihood ratio",
    "EC, AMM": "EC-GP-UCB, AMM",
    "Bayesian, all arms": "GP-UCB, Bayesian",
    "width 1": "GP-UCB, width 1",
    "width 2": "GP-UCB, width 2",
    **{band.label: band.label for band in BANDS if band.reach == "own"},
}
"""The rule that is a band's own policy."""


def bands_beside(task: str, player: str) -> dict[str, tuple[Named, ...]]:
    """The bands that are read beside a player on a task; without policies that of the player itself."""
    found: dict[str, tuple[Named, ...]] = {}
    for band in BANDS:
        if task not in band.tasks or not band.agents:
            continue
        own = OWN.get(band.label) == player
        anywhere = player in BESIDE or band.label in TIGHTEST
        if band.reach == "own":
            if own:
                found[band.label] = ()
        elif player == ADVERSARY:
            if band.reach == "any":
                found[band.label] = band.agents
        elif own or anywhere:
            found[band.label] = band.agents
    return found


def _piece(job: tuple[str, str, int, int], seed: int = 0, against: tuple[str, Any] | None = None) -> tuple[Any, Paths]:
    task, name, first, n = job
    player: Player = Adversary(*(against or AGAINST[task])) if name == ADVERSARY else Policy(RULES[name])
    return job, along(TASKS[task], player, bands_beside(task, name), n, HORIZON, seed, first)


def _runs(player: str, repetitions: int) -> int:
    """How many repetitions of a player there are."""
    own = {band.label for band in BANDS if band.reach == "own"}
    return repetitions if player in own or player in (*BESIDE, ADVERSARY) else max(2, round(FEWER * repetitions))


def _alone(task: str, rule: str, repetitions: int, workers: int) -> Paths:
    """The runs of a rule that has no form that plays side by side, with its own band."""
    found, uniform = (
        simulate(TASKS[task], who, repetitions, HORIZON, audit=True, workers=workers, progress=False)
        for who in (RULES[rule], "Uniform")
    )
    assert found.bands is not None
    required, violated = found.bands["required_scaling"].to_numpy(), found.bands["violated"].to_numpy()
    share = float(found.bands["informative"].mean())
    band = BandOnPath(required, violated == 0, share, float("nan"), found.no_guarantee)
    return Paths({rule: band}, found.regret.sum(axis=1) / uniform.regret.sum(axis=1))


def play(jobs: Sequence[tuple[str, str]], repetitions: int, workers: int) -> Iterator[tuple[tuple[str, str], Paths]]:
    """The paths of pairs of a task and a player, each joined of its pieces."""
    runs = {job: _runs(job[1], repetitions) for job in jobs}
    pieces = [
        (task, player, first, min(CHUNK, n - first))
        for (task, player), n in runs.items()
        for first in range(0, n, CHUNK)
    ]
    done: dict[tuple[str, str], list[tuple[int, Paths]]] = {}
    for (task, player, first, _), part in in_processes(partial(_piece), pieces, workers, "studied"):
        parts = done.setdefault((task, player), [])
        parts.append((first, part))
        if sum(len(one.regret) for _, one in parts) == runs[task, player]:
            yield (task, player), Paths.joined([one for _, one in sorted(parts, key=lambda pair: pair[0])])
            del done[task, player]


def rules_on(task: str) -> list[str]:
    """The rules that play a task, and the adversary where a band is proven against it."""
    bayesian = {"GP-UCB, Bayesian", "IRGP-UCB"}
    normed = {name for name, (_, kwargs) in RULES.items() if isinstance(kwargs.get("width"), str)}
    plain = [name for name in RULES if name not in normed | bayesian]
    if task in DRAWN:
        return [*plain, *(name for name in RULES if name in bayesian)]
    slack = {"GP-UCB, DMM with slack", "EC-GP-UCB, AMM"}
    elsewhere = {band.label for band in BANDS if band.label in _ALONE and task not in band.tasks}
    allowed = slack if task in NEAR else normed - {"EC-GP-UCB, AMM"} - bayesian - elsewhere
    twice = {"GP-UCB, DMM with slack"} if task in KNOWN else set()  # there it is DMM
    return [*plain, *(name for name in RULES if name in allowed - twice), ADVERSARY]


def cells_of(task: str, player: str, paths: Paths) -> Iterator[Cell]:
    """What is kept of the bands of a path, scaled ones among them."""
    for label, found in paths.bands.items():
        readings = [(label, 1.0), *((name, c) for name, (of, c) in _SCALED.items() if of == label and task in KNOWN)]
        for name, c in readings:
            required = np.sort(found.required) / c
            n = len(required)
            violated = int((~found.held).sum()) if c == 1 else int((required > 1).sum())
            spare = most_confirmed(n, DELTA)
            factor = float(required[n - 1 - spare]) if spare >= 0 else float("inf")
            why = found.why_not if c == 1.0 else "no theorem holds for a part of its band"
            yield Cell(task, player, name, n, violated, factor, found.informative, found.half_width, why)


def study(repetitions: int, workers: int) -> dict[str, Any]:
    """Everything, as it is kept."""
    jobs = [(task, player) for task in TASKS for player in rules_on(task)]
    cells, regrets = [], []
    beside = play([job for job in jobs if job[1] not in _ALONE], repetitions, workers)
    alone = ((job, _alone(*job, repetitions, workers)) for job in jobs if job[1] in _ALONE)
    for (task, player), paths in itertools.chain(beside, alone):
        cells += [asdict(cell) for cell in cells_of(task, player, paths)]
        if player != ADVERSARY:
            error = float(paths.regret.std(ddof=1) / np.sqrt(len(paths.regret)))
            regrets.append(asdict(Regret(task, player, float(paths.regret.mean()), error)))
        sys.stderr.write(f"{task}: {player}\n")
    return {
        "delta": DELTA,
        "horizon": HORIZON,
        "tasks": {"known": list(KNOWN), "near": list(NEAR), "drawn": list(DRAWN)},
        "bands": [{"label": band.label, "reach": band.reach, "control": band.control} for band in BANDS],
        "against": {task: list(pair) for task, pair in AGAINST.items()},
        "cells": cells,
        "regrets": regrets,
    }


def search(repetitions: int) -> None:
    """Print, for every band and strategy that an adversary may have, the factor that bands need in nine of ten runs."""
    for tasks, labels in ((KNOWN, ("AMM", "DMM", "likelihood ratio")), (NEAR, ("DMM with slack", "EC, AMM"))):
        sys.stdout.write(f"| against | strategy | {' | '.join(labels)} |\n|---|---|{'---|' * len(labels)}\n")
        for against in itertools.product(labels, STRATEGIES):
            factors: dict[str, list[float]] = {}
            for task in tasks:
                _, paths = _piece((task, ADVERSARY, 0, repetitions), SEARCHED, against)
                for label in labels:
                    factors.setdefault(label, []).append(float(np.quantile(paths.bands[label].required, 1 - DELTA)))
            means = " | ".join(f"{np.mean(factors[label]):.3f}" for label in labels)
            sys.stdout.write(f"| {against[0]} | {against[1]} | {means} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--search", action="store_true", help="Only compare adversaries, on other functions and noise.")
    parser.add_argument("--verdicts", action="store_true", help="Only print what the kept numbers say of each band.")
    given = parser.parse_args()
    if given.verdicts:
        for row in read_study(json.loads(given.out.read_text(encoding="utf-8"))).bands:
            must = " (must fail)" if row.control else ""
            sys.stdout.write(f"{row.verdict:16} missed {row.violated:6,} of {row.runs:6,}  {row.band}{must}\n")
    elif given.search:
        search(min(given.repetitions, CHUNK))
    else:
        text = json.dumps(study(given.repetitions, given.workers), allow_nan=True)
        given.out.write_text(text.replace('}, {"', '},\n{"') + "\n", encoding="utf-8")
