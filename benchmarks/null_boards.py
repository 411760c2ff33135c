"""Simulated leaderboards of equal agents: how often the page says that they differ, and what its intervals cover.

The scores are drawn; the rankings, comparisons and intervals are those of the page. The tables of `docs/robustness.md`
come from `python -m benchmarks.null_boards`, in about half an hour on one core; `--only error` makes the one of the
test by itself.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import scipy.stats

from leaderboards.play.spec import Ref
from leaderboards.score.comparison import compare
from leaderboards.score.frames import OverallRanking, TaskRanking, overall_ranking
from leaderboards.score.rankings import task_ranking
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import (
    ALPHA,
    FlipTest,
    Interval,
    clopper_pearson,
    flip_test,
    median_intervals,
    proportion,
    score_interval,
)
from leaderboards.score.summary import Summary
from leaderboards.score.tasks import Task

TASKS = 3
MOST_COMPARED = 5  # agents; of more, the paired comparisons would take most of the time
_SHIFT = 20.0


@dataclass(frozen=True)
class Distribution:
    """Where scores come from.

    Attributes:
        draw: Scores of the given shape.
        mean: Their mean.
        median: Their median; None where it is no single number.
    """

    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    mean: float
    median: float | None


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution(lambda rng, shape: rng.normal(5.0, 1.0, shape), 5.0, 5.0),
    "lognormal, sigma 0.5": Distribution(lambda rng, shape: rng.lognormal(0, 0.5, shape), np.exp(0.125), 1.0),
    "lognormal, sigma 1": Distribution(lambda rng, shape: rng.lognormal(0, 1.0, shape), np.exp(0.5), 1.0),
    "t, 2 degrees": Distribution(lambda rng, shape: _SHIFT + rng.standard_t(2, shape), _SHIFT, _SHIFT),
    "ties: 0 or 1": Distribution(lambda rng, shape: rng.integers(0, 2, shape).astype(float), 0.5, None),
    "two modes": Distribution(lambda rng, shape: rng.integers(1, 3, shape) + rng.normal(0, 0.05, shape), 1.5, None),
    "constant": Distribution(lambda _, shape: np.ones(shape), 1.0, 1.0),
}


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    Attributes:
        distribution: One of `DISTRIBUTIONS`.
        agents: Number of agents.
        repetitions: Number of repetitions of each task.
        missing: Share of the runs that are missing, all of them of the last agents and repetitions.
        shift: How much worse the last agent is, in standard deviations of a paired difference of normal scores; 0 for
            equal agents.
    """

    distribution: str
    agents: int
    repetitions: int
    missing: float = 0.0
    shift: float = 0.0


@dataclass
class Counts:
    """What was counted over boards: how often something held, of how many."""

    hits: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, values: Iterable[bool]) -> None:
        """Count the true ones among `values`."""
        for value in values:
            self.hits[name] += bool(value)
            self.of[name] += 1

    def share(self, name: str) -> Interval:
        """Share with Clopper and Pearson's 95 % interval."""
        return proportion(self.hits[name], self.of[name])

    def text(self, name: str) -> str:
        """The same in per cent; "–" where nothing was counted."""
        if not self.of[name]:
            return "–"
        share = self.share(name)
        return f"{share.estimate:.1%} ({share.low:.1%}–{share.high:.1%})"


def board(setting: Setting, rng: np.random.Generator) -> Summary:
    """A folder, reduced: scores that share a factor within a block, as runs of one instance do."""
    of = DISTRIBUTIONS[setting.distribution]
    names = [f"agent {i}" for i in range(setting.agents)]
    t = np.array([1])
    scores, rows = {}, []
    for e in range(TASKS):
        blocks = tuple((0, r) for r in range(setting.repetitions))
        X = of.draw(rng, (setting.repetitions, setting.agents))
        X[:, -1] += setting.shift * np.sqrt(2)
        gone = rng.random(X.shape) < setting.missing
        for i, name in enumerate(names):
            there = [r for r in range(setting.repetitions) if not gone[r, i]]
            x = X[there, i]
            if not there:
                continue
            scores[f"task {e}", name] = AgentScores(
                t,
                tuple(blocks[r] for r in there),
                {"cumulative_regret": x[:, None], "regret_ratio": np.full((len(x), 1), np.nan)},
                {"cumulative_regret": x, "regret_ratio": np.full(len(x), np.nan)},
            )
            rows += [(f"task {e}", name, 0, r, "done", "local", 0.0, "", None) for r in there]
    columns = ["task", "agent", "seed", "repetition", "status", "standing", "finished", "reason", "error"]
    tasks = {f"task {e}": Task(f"task {e}", Ref(f"env {e}"), 1, "on_request") for e in range(TASKS)}
    runs = pd.DataFrame(rows, columns=columns)
    return Summary(None, tasks, {name: Ref(name) for name in names}, runs, scores, [], {})


def simulate(setting: Setting, n_boards: int, seed: int = 0) -> Counts:
    """Build `n_boards` boards and count what they say."""
    counts = Counts()
    for rng in np.random.default_rng(np.random.SeedSequence([seed, *map(ord, repr(setting))])).spawn(n_boards):
        _count(board(setting, rng), setting, counts)
    return counts


def _count(summary: Summary, setting: Setting, counts: Counts) -> None:
    by_task = {task: task_ranking(summary, task) for task in summary.tasks}
    overall = overall_ranking(by_task)
    worse = f"agent {setting.agents - 1}" if setting.shift else None
    rankings = [found for found in (*by_task.values(), overall) if found is not None]
    for found in rankings:
        equal = [i for i, name in enumerate(found.agents) if name != worse]
        kind = "overall" if found is overall else "task"
        apart = found.ranking.p < ALPHA
        counts.add(f"false, {kind}", [bool(apart[np.ix_(equal, equal)].any())])
        if worse in found.agents:
            counts.add(f"power, {kind}", apart[found.agents.index(worse), equal])
    counts.add("false, page", [any((found.ranking.p < ALPHA).any() for found in rankings)])
    if not setting.shift and setting.distribution != "constant":
        _count_intervals(summary, by_task, overall, DISTRIBUTIONS[setting.distribution], counts)


def _count_intervals(
    summary: Summary,
    by_task: dict[str, TaskRanking | None],
    overall: OverallRanking | None,
    of: Distribution,
    counts: Counts,
) -> None:
    for scores in summary.scores.values():
        x = scores.finals["cumulative_regret"]
        _count_interval("mean", score_interval(x), of.mean, counts)
        if of.median is not None:
            _count_interval("median", median_intervals(x[None])[0], of.median, counts)
    if overall is not None:
        for interval in overall.mean_rank:
            _count_interval("rank", interval, (len(overall.agents) + 1) / 2, counts)
    if len(summary.agents) > MOST_COMPARED:
        return
    for first, second in itertools.combinations(summary.agents, 2):
        for task, ranking in by_task.items():
            one = compare(summary, task, first, second, ranking)
            if one is not None:
                _count_interval("difference", one.difference, 0.0, counts)
                _count_interval("wins", one.wins, 0.5, counts)


def _count_interval(name: str, interval: Interval, truth: float, counts: Counts) -> None:
    if interval.is_known:
        counts.add(name, [truth in interval])


# ---- the tables ----

EQUAL = [Setting(name, k, n) for name in DISTRIBUTIONS for k in (5, 15) for n in (6, 10)]
MISSING = [Setting("normal", 5, 10, missing=0.1), Setting("lognormal, sigma 1", 15, 10, missing=0.02)]
SHIFTED = [Setting(name, k, n, shift=1.5) for name in list(DISTRIBUTIONS)[:4] for k in (2, 5, 15) for n in (6, 10)]


def false_table(settings: Iterable[Setting], n_boards: int) -> Iterator[str]:
    """Rows in Markdown: how often equal agents are told apart, and what intervals cover."""
    rates = ["false, task", "false, overall", "false, page"]
    covers = ["mean", "median", "difference", "wins", "rank"]
    yield "| scores | agents | repetitions | false, one task | false, overall | false, page |" + "".join(
        f" {name} |" for name in covers
    )
    yield "|---|" + "---:|" * (5 + len(covers))
    for setting in settings:
        counts = simulate(setting, n_boards)
        named = f"{setting.distribution}{f', {setting.missing:.0%} missing' if setting.missing else ''}"
        cells = [named, str(setting.agents), str(setting.repetitions), *map(counts.text, rates + covers)]
        yield "| " + " | ".join(cells) + " |"


def power_table(settings: Iterable[Setting], n_boards: int) -> Iterator[str]:
    """Rows in Markdown: how often a worse agent is told apart, with the tests of a page and with t-tests alone."""
    yield "| scores | agents | repetitions | found | t-tests with Holm's correction | false among the others |"
    yield "|---|---:|---:|---:|---:|---:|"
    for setting in settings:
        counts = simulate(setting, n_boards)
        with patch("leaderboards.score.frames.flip_test", t_tests):
            other = simulate(setting, n_boards)
        cells = [setting.distribution, str(setting.agents), str(setting.repetitions), counts.text("power, task")]
        yield "| " + " | ".join([*cells, other.text("power, task"), counts.text("false, task")]) + " |"


def t_tests(Y: np.ndarray, *_: Any, **__: Any) -> FlipTest:
    """What most would write: paired t-tests of all pairs with Holm's correction, in the place of `flip_test`."""
    p, nowhere = holm_t(Y), np.full((Y.shape[1], Y.shape[1]), np.nan)
    return FlipTest(p, p, nowhere, nowhere)


def holm_t(Y: np.ndarray) -> np.ndarray:
    """P-values of paired t-tests of all pairs with Holm's correction; a difference without spread is certain."""
    k = Y.shape[1]
    i, j = np.triu_indices(k, 1)
    D = Y[:, i] - Y[:, j]
    spread = D.std(axis=0, ddof=1) > 1e-12 * np.abs(Y).max()
    raw = np.where(np.abs(D.mean(axis=0)) > 1e-12 * np.abs(Y).max(), 0.0, 1.0)
    raw[spread] = scipy.stats.ttest_1samp(D[:, spread], 0.0).pvalue
    order = np.argsort(raw)
    p = np.ones((k, k))
    p[i[order], j[order]] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)), 1.0)
    return np.minimum(p, p.T)


def _spread(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return rng.normal(10.0, 1.0, (n, k))


def _unlike(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Half of them lognormal, half normal, all of mean and variance 1."""
    Y = rng.normal(0.0, 1.0, (n, k))
    Y[:, : k // 2] = (rng.lognormal(0, 1.0, (n, k // 2)) - np.exp(0.5)) / np.sqrt((math.e - 1) * math.e)
    return Y


def _skewed(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Normal ones, and one of the same mean that is lognormal and has nine times their deviation."""
    Y = rng.normal(0.0, 1.0, (n, k))
    Y[:, 0] = 9 * (rng.lognormal(0, 1.5, n) - np.exp(1.125)) / np.sqrt((np.exp(2.25) - 1) * np.exp(2.25))
    return Y


def _one_wide(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Normal ones, and one of the same mean that has 500 times their deviation."""
    Y = rng.normal(0.0, 1.0, (n, k))
    Y[:, -1] *= 500
    return Y


def _half(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    Y = _spread(rng, n, k)
    Y[:, : k // 2] -= 2
    return Y


def _one_best(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    Y = _spread(rng, n, k)
    Y[:, 0] -= 2
    return Y


def _two_good(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Two good ones that differ by five deviations of their difference, and bad ones that are far noisier."""
    Y = 0.3 + 0.15 * rng.normal(size=(n, k))
    Y[:, 0] = 0.1 + 0.0002 * rng.normal(size=n)
    Y[:, 1] = Y[:, 0] + 0.0015 + 0.0003 * rng.normal(size=n)
    return Y


@dataclass(frozen=True)
class Kind:
    """Scores of one kind of board.

    Attributes:
        draw: Scores of n blocks and k agents.
        good: How many agents come first that are better than the others, of k.
        is_symmetric: Whether differences of equal agents are symmetric about 0, as the test has it.
    """

    draw: Callable[[np.random.Generator, int, int], np.ndarray]
    good: Callable[[int], int] = lambda _: 0
    is_symmetric: bool = True


KINDS: dict[str, Kind] = {
    "all equal": Kind(_spread),
    "one better by two deviations": Kind(_one_best, lambda _: 1),
    "half better by two deviations": Kind(_half, lambda k: k // 2),
    "three values": Kind(lambda rng, n, k: rng.integers(0, 3, (n, k)).astype(float)),
    "ties: 0 or 1": Kind(lambda rng, n, k: rng.integers(0, 2, (n, k)).astype(float)),
    "lognormal, sigma 1": Kind(lambda rng, n, k: rng.lognormal(0, 1.0, (n, k))),
    "lognormal, sigma 1.5": Kind(lambda rng, n, k: rng.lognormal(0, 1.5, (n, k))),
    "two good among bad ones": Kind(_two_good, lambda _: 2),
    "one of 500 times the deviation": Kind(_one_wide),
    "half lognormal, half normal": Kind(_unlike, is_symmetric=False),
    "one skewed, of nine deviations": Kind(_skewed, is_symmetric=False),
}


def told_apart(kind: str, n: int, k: int, n_boards: int) -> Counts:
    """Boards of a kind: whether two equal agents are told apart, and the share of the others' differences found.

    Of two good agents among bad ones the difference that counts is the one between these two.
    """
    of, counts = KINDS[kind], Counts()
    good = of.good(k)
    for rng in np.random.default_rng(np.random.SeedSequence([n, k, *map(ord, kind)])).spawn(n_boards):
        apart = flip_test(of.draw(rng, n, k), rng, ends=False).p < ALPHA
        if kind == "two good among bad ones":
            counts.add("found", [apart[0, 1]])
            groups = [slice(2, k)]
        else:
            counts.add("found", apart[:good, good:].ravel())
            groups = [slice(0, good), slice(good, k)]
        counts.add("false", [any(bool(apart[group, group].any()) for group in groups)])
    return counts


AGENTS = (2, 7, 14, 28, 41)
REPETITIONS = (5, 6, 10, 20, 28)


def error_table(n_boards: int) -> Iterator[str]:
    """Rows in Markdown: boards on which equal agents are told apart, and the share of real differences that is found.

    Then what is asked of the cells in which differences are symmetric, taken together.
    """
    yield "| scores | repetitions |" + "".join(f" {k} agents |" for k in AGENTS) + " found |"
    yield "|---|---:|" + "---:|" * len(AGENTS) + "---|"
    cells: list[Counts] = []
    for kind, n in itertools.product(KINDS, REPETITIONS):
        every = [told_apart(kind, n, k, n_boards) for k in AGENTS]
        cells += every if KINDS[kind].is_symmetric else []
        false = [f"{one.share('false').estimate:.1%}" for one in every]
        found = [f"{one.share('found').estimate:.0%}" if one.of["found"] else "–" for one in every]
        told = ", ".join(found) if any(one.of["found"] for one in every) else "–"
        yield "| " + " | ".join([kind, str(n), *false, told]) + " |"
    hits = np.array([cell.hits["false"] for cell in cells])
    low, _ = clopper_pearson(hits, n_boards, 0.05 / len(cells))
    yield ""
    yield (
        f"Symmetric: {len(cells)} cells of {n_boards} boards, mean {hits.mean() / n_boards:.2%}, largest "
        f"{hits.max() / n_boards:.1%}; {int((low > ALPHA).sum())} whose lower limit (Bonferroni) is above {ALPHA:.0%}."
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=500, help="Simulated leaderboards of each setting.")
    parser.add_argument("--only", choices=("equal", "power", "error"), help="One of the tables.")
    given = parser.parse_args()
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "equal": lambda: false_table(EQUAL + MISSING, given.boards),
        "power": lambda: power_table(SHIFTED, given.boards),
        "error": lambda: error_table(given.boards),
    }
    for name, lines in tables.items():
        if given.only in (None, name):
            for line in itertools.chain(lines(), [""]):
                print(line, flush=True)


if __name__ == "__main__":
    main()
