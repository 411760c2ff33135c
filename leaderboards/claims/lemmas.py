"""Lemmas and theorems of four papers on short runs, with the exact posterior of the same pulls kept beside.

| symbol | meaning |
|---|---|
| `lev` | ridge leverage score `variance / lam`, `sketched` by the policy's dictionary or exact |
| accuracy | the larger of sketched over exact leverage score and its inverse, largest over arms and batches |
| `ratio` | leverage score at the start of a batch over that after all its picks but the last, largest over arms |

One task meets the conditions of all: a mean of known RKHS norm, Gaussian noise, and `lam = 1`. Everything is largest
(or least) over the batches of a run. What a policy says of itself is its dictionary and its posterior alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

import agents
from agents import Agent, turns
from agents.core.information import greedy_information, largest_gain
from agents.core.regret_bounds import gain_within_batch, gp_ucb_bound
from agents.core.widths import InformationGain, WidthContext
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from leaderboards.claims.claim import Claim, Figure, Range
from leaderboards.claims.measures import first, of_runs, share
from leaderboards.claims.runs import Runs, drawn, told
from leaderboards.play.spec import Ref
from leaderboards.score.statistics import mean_interval, paired_difference

HORIZON, DELTA, B, C, QBAR, NORM = 600, 0.05, 5, 2.0, 10.0, 5.0
_ALPHA = 3.0  # (1 + eps) / (1 - eps) at eps = 1/2
_LOG = math.log(4 * HORIZON / DELTA)
_TASK: Mapping[str, Any] = {"n_arms": 200, "dim": 2, "lengthscale": 0.3, "norm": NORM, "noise_std": 1.0}


@dataclass(frozen=True)
class Task:
    """A mean function with what policies are told of it, and its noise.

    Attributes:
        problem: The problem description.
        f: Mean of every arm, shape `(A,)`.
        noise: Noise of every evaluation, shape `(T,)`.
    """

    problem: Problem
    f: Float[np.ndarray, " A"]
    noise: Float[np.ndarray, " T"]

    def play(self, agent: Agent, seed: int) -> Iterator[tuple[int, Int[np.ndarray, " n"], ExactPosterior]]:
        """Each batch of a run when it is picked: evaluations before it, its arms, the exact posterior of all before."""
        X, kernel, _ = told(self.problem)
        agent.reset(self.problem, np.random.default_rng(seed))
        exact, end = ExactPosterior(kernel, X, 1.0), 0
        play = turns(agent, self.problem, horizon=HORIZON)
        for evaluation in play:
            t = evaluation.ticket
            if t == end:
                arms, end = play.actions[t : play.chosen].copy(), play.chosen
                yield t, arms, exact
                distinct, counts = np.unique(arms, return_counts=True)
                exact.update(distinct, counts.astype(np.float64), np.zeros(len(distinct)))
            evaluation.tell(self.f[evaluation.action] + self.noise[t])

    @property
    def regrets(self) -> Float[np.ndarray, " A"]:
        """Regret of every arm."""
        return self.f.max() - self.f


def draw_task(rng: np.random.Generator) -> Task:
    """The task of one repetition."""
    problem, f = drawn(Ref("GPBandit/RKHS-v0", _TASK), HORIZON, int(rng.integers(2**31)))
    return Task(problem, f, rng.normal(0.0, 1.0, HORIZON))


def shrunk(
    variance: Float[np.ndarray, " A"], covariance: Float[np.ndarray, "n A"], arms: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " A"]:
    """Variances over those after pulls of `arms` with unit noise; `covariance` is that of `arms` with all arms."""
    S = covariance[:, arms] + np.eye(len(arms))
    ratio: np.ndarray = variance / (variance - np.einsum("ij,ij->j", covariance, np.linalg.solve(S, covariance)))
    return ratio


def apart(x: Float[np.ndarray, " A"], y: Float[np.ndarray, " A"]) -> float:
    """The largest factor between two arrays, either way."""
    return float(np.exp(np.abs(np.log(x / y)).max()))


def sketched_run(task: Task, id: str, seed: int) -> dict[str, float]:
    """Figures of a run of BBKB, whose batches end by the rule of Lemma 1, or of Lemma 3 for `BBKB-GlobalLocal`."""
    agent = agents.make(id, width="practical", delta=DELTA, c=C, qbar=QBAR, draws="pull")
    found = {"accuracy": 1.0, "lemma 1": 0.0, "lemma 3": 0.0, "lemma 6": 0.0, "ratio": 1.0, "short": 0.0}
    for t, picks, posterior in task.play(agent, seed):
        if t == 0:
            continue
        sketch = agent.posterior  # type: ignore[attr-defined]
        lev, exact = sketch.variance, posterior.variance
        found["accuracy"] = max(found["accuracy"], apart(lev, exact))
        if t + len(picks) < HORIZON:  # which ends the last batch
            found["short"] = max(found["short"], (C - 1) / (3 * float(exact.max())) / len(picks))
        for n in {len(picks) // 2, len(picks) - 1, len(picks)} - {0}:
            arms = picks[:n]
            covariance = sketch.reducible_covariance(arms, np.arange(len(lev)))
            ratio = shrunk(lev, covariance, arms)
            own = shrunk(exact, posterior.covariance(arms), arms)
            total = 1 + lev[arms].sum()
            found["lemma 1"] = max(found["lemma 1"], float(ratio.max() / total))
            found["lemma 3"] = max(found["lemma 3"], float((ratio / (1 + (covariance**2).sum(axis=0) / lev)).max()))
            found["lemma 6"] = max(found["lemma 6"], float(own.max() / (3 * total)))
            if n < len(picks):  # the last pick may cross the threshold
                found["ratio"] = max(found["ratio"], float(ratio.max()))
    return found


def bkb_run(task: Task, seed: int) -> dict[str, float]:
    """Figures of a run of BKB, with the bounds of its theorems at eps = 1/2."""
    agent = agents.make("BKB", delta=DELTA, qbar=QBAR, draws="pull")
    accuracy, size, dimension, R, bound = 1.0, 0.0, 0.0, 0.0, 0.0
    for t, arms, exact in task.play(agent, seed):
        if t:
            sketch = agent.posterior  # type: ignore[attr-defined]
            d_eff = exact.effective_dimension()
            accuracy = max(accuracy, apart(sketch.variance, exact.variance))
            size = max(size, len(sketch.dictionary) / (QBAR * d_eff))
            dimension = max(dimension, d_eff / (2 * exact.information_gain))
            bound = max(bound, R / printed_bkb_bound(t, d_eff))
        R += float(task.regrets[arms].sum())
    return {"accuracy": accuracy, "size": size, "dimension": dimension, "bound": bound, "regret": R}


def printed_bkb_bound(t: int, d_eff: float) -> float:
    """The bound of the paper's Theorem 2 for the constants here, with a logarithm of at least 1.

    What its proof gives is `agents.sketched.theory.bkb_bound`.
    """
    inner = d_eff * (log := max(math.log(t), 1.0)) + NORM * math.sqrt(d_eff * log) + math.log(1 / DELTA)
    return 2 * 6**1.5 * math.sqrt(t) * inner


def gp_bucb_run(task: Task, seed: int) -> dict[str, float]:
    """The gain of the batches of GP-BUCB with the `C` of Theorem 1, and its regret over the bound, at every t."""
    X, kernel, _ = told(task.problem)
    gamma = largest_gain(greedy_information(kernel, X, 1.0, HORIZON).gain, 1.0, 1.0)
    bound_on_gain = gain_within_batch(gamma, B)
    agent, arms, largest = agents.make("GP-BUCB", delta=DELTA, batch_size=B), np.zeros(0, np.int64), 0.0
    for _, picks, exact in task.play(agent, seed):
        K = exact.covariance(picks[:-1])[:, picks[:-1]]
        largest = max(largest, 0.5 * float(np.linalg.slogdet(np.eye(len(K)) + K)[1]))
        arms = np.concatenate([arms, picks])
    t = np.arange(1.0, HORIZON + 1)
    known = WidthContext(1, task.problem.n_arms, 1.0, 1.0, NORM, DELTA)
    width = np.array([InformationGain()(replace(known, information_gain=gain)) for gain in gamma.tolist()])
    bound = gp_ucb_bound(t, width, gamma, 1.0, 1.0, math.exp(bound_on_gain))
    return {"gain": largest / bound_on_gain, "bound": float((np.cumsum(task.regrets[arms]) / bound).max())}


def bpe_run(task: Task, seed: int) -> dict[str, float]:
    """Whether every mean was inside BPE's band at the end of every batch, with the batch's own data."""
    agent, held = agents.make("BPE", delta=DELTA), 1.0
    for t, _, _ in task.play(agent, seed):
        if t:
            held = min(held, _covers(agent, task))
    return {"held": min(held, _covers(agent, task))}


def _covers(agent: Agent, task: Task) -> float:
    band = agent.predict(told(task.problem)[0])
    assert band is not None
    mean, half = band
    return float((np.abs(task.f - mean) <= half).all())


def gp_ucb_run(task: Task, seed: int) -> dict[str, float]:
    """Regret of GP-UCB with the width of its theorem."""
    played = task.play(agents.make("GP-UCB", delta=DELTA), seed)
    return {"regret": float(sum(task.regrets[arms].sum() for _, arms, _ in played))}


def study(repetitions: int, seed: int = 0) -> Runs:
    """The figures of every repetition, by policy."""
    children = enumerate(np.random.SeedSequence(seed).spawn(repetitions))
    return Runs.of_study(_figures(draw_task(np.random.default_rng(child)), r) for r, child in children)


def _figures(task: Task, seed: int) -> dict[str, dict[str, float]]:
    return {
        "BBKB": sketched_run(task, "BBKB", seed),
        "BBKB-GlobalLocal": sketched_run(task, "BBKB-GlobalLocal", seed),
        "BKB": bkb_run(task, seed),
        "GP-UCB": gp_ucb_run(task, seed),
        "GP-BUCB": gp_bucb_run(task, seed),
        "BPE": bpe_run(task, seed),
    }


_ROUNDING = 1e-9
_OVERSAMPLING = (
    "The theorem asks for an oversampling of {:.0f}, with which no arm is left out here; 10 leaves arms out and is the "
    "harder test. Less is not enough for BKB: tried before on three repetitions, some leverage score of every run is "
    "wrong by a factor of 3 to 5 (BKB) or up to 2.5 (BBKB) with 4, and of 9 to 33 with the 2 of the experiments."
)
_RATIO = "ratio of leverage scores"
_OVER = f"{_RATIO} over that bound, largest over arms, batches and lengths"
_BEFORE_LAST = f"{_RATIO} before the last pick of a batch, largest over arms and batches"

# What holds at all times, the largest of a run being at most `high`: name, source, row, column, high; what the paper
# says; what is measured.
_LARGEST: Mapping[str, Sequence[tuple[tuple[str, str, str, str, float], str, str]]] = {
    "bkb": (
        (
            ("bkb-accuracy", "Theorem 1", "BKB", "accuracy", _ALPHA),
            "At every t, BKB's variances are within a factor 3 of the exact ones",
            "sketched over exact leverage score or its inverse, largest over arms and t",
        ),
        (
            ("bkb-dictionary", "Theorem 1", "BKB", "size", 3 * 2 * _ALPHA),
            "BKB's dictionary has at most 3 (1 + kappa^2 / lam) 3 qbar d_eff arms at every t",
            "arms in the dictionary over qbar d_eff, largest over t",
        ),
        (
            ("bkb-regret", "Theorem 2", "BKB", "bound", 1.0),
            "At every t, BKB's regret is within its bound",
            "regret over its bound, largest over t",
        ),
        (
            ("dimension-below-gain", "Proposition 5", "BKB", "dimension", 1.0),
            "The effective dimension of the pulls is at most logdet(I + K_t / lam) at every t",
            "effective dimension over the log-determinant, largest over t",
        ),
    ),
    "bbkb": (
        (
            ("lemma-1", "Lemma 1", "BBKB", "lemma 1", 1 + _ROUNDING),
            "Within a batch, no sketched variance shrinks by more than 1 + the sum of the leverage scores of its picks",
            _OVER,
        ),
        (
            ("lemma-2", "Lemma 2", "BBKB", "accuracy", 3.0),
            "At the start of every batch, BBKB's variances are within a factor 3 of the exact ones",
            "sketched over exact leverage score or its inverse, largest over arms and batches",
        ),
        (
            ("ratio-below-threshold", "section 3.3, after Lemma 2", "BBKB", "ratio", C + _ROUNDING),
            "The global rule keeps ratios of sketched variances below C",
            _BEFORE_LAST,
        ),
        (
            ("lemma-3", "Lemma 3; appendix B.3", "BBKB-GlobalLocal", "lemma 3", 1 + _ROUNDING),
            "Within a batch, no sketched variance shrinks by more than 1 + the sum of its squared covariances with the "
            "picks, over it",
            _OVER,
        ),
        (
            ("local-ratio-below-threshold", "section 4, after Lemma 3", "BBKB-GlobalLocal", "ratio", C + _ROUNDING),
            "The local rule keeps ratios of sketched variances below C",
            _BEFORE_LAST,
        ),
        (
            ("lemma-6", "Lemma 6", "BBKB", "lemma 6", 1 + _ROUNDING),
            "Within a batch, no exact variance shrinks by more than 3 (1 + the sum of the leverage scores of its picks"
            ")",
            f"exact {_OVER}",
        ),
        (
            ("least-batch", "appendix A.5", "BBKB", "short", 1.0),
            "Where no exact leverage score exceeds 1 / P, a batch has at least P (C - 1) / 3 picks",
            "that bound over the length of a batch, largest over batches",
        ),
    ),
    "gp-bucb": (
        (
            ("gain-in-a-batch", "section 4, before Theorem 1", "GP-BUCB", "gain", 1.0),
            f"The picks of a batch of {B} tell at most gamma_{B - 1} nats that are not fed back",
            "largest information gain within a batch over the bound on it",
        ),
        (
            ("regret-gp-bucb-theorem-1", "Theorem 1", "GP-BUCB", "bound", 1.0),
            f"At every t, the regret is at most exp(C) times the bound of GP-UCB (B = {B})",
            "regret over its bound, largest over t",
        ),
    ),
}
_LESS_SAMPLING = ("bkb-accuracy", "bkb-dictionary", "bkb-regret", "lemma-2", "lemma-6", "least-batch")
_NOTES = {
    "bkb-accuracy": _OVERSAMPLING.format(6 * _ALPHA * _LOG / 0.25),
    "lemma-2": _OVERSAMPLING.format(72 * C * _LOG),
    "lemma-3": "Covariances are those of the part that the dictionary expresses, as in the derivation of the lemma.",
    "regret-gp-bucb-theorem-1": f"C is the bound on the gain of {B - 1} pulls.",
}


def _held(paper: str) -> Iterator[Claim]:
    for (name, source, row, column, high), statement, text in _LARGEST[paper]:
        less = name in _LESS_SAMPLING
        yield Claim(
            name,
            source,
            f"{statement} (oversampling {QBAR:g}, less than the theorem asks for)." if less else f"{statement}.",
            of_runs(text, mean_interval, first, row, columns=(column,)),
            Range(high=high),
            exact=True,
            quick=True,
            note=_NOTES.get(name, ""),
            paper=paper,
            scope="ours" if less else "theorem",
        )


CLAIMS: tuple[Claim, ...] = (
    *_held("bkb"),
    Claim(
        "bkb-as-gp-ucb",
        "section 4, after Theorem 2",
        "BKB's regret is that of GP-UCB up to a factor 3 log T.",
        of_runs(
            "log of the regret of BKB over that of GP-UCB, each with the width of its theorem",
            paired_difference,
            lambda regret: np.log(first(regret)),
            "BKB",
            "GP-UCB",
        ),
        Range(high=math.log(3 * math.log(HORIZON))),
        quick=True,
        note="The paper compares the bounds; measured here are the regrets.",
        scope="ours",
        paper="bkb",
    ),
    *_held("bbkb"),
    Claim(
        "existing-data",
        "section 4, Initialization",
        "The dictionary of existing data can be drawn in near-linear time.",
        Figure("seconds of BLESS"),
        note="The paper shows no time of it; in bbkb-nas it is part of the seconds of the first choice.",
        paper="bbkb",
    ),
    *_held("gp-bucb"),
    Claim(
        "band-of-a-batch",
        "Lemma 1, Corollary 1; section 3.4",
        "With the data of one batch alone, all means are inside the band after every batch, with probability 1 - "
        "delta.",
        share("share of runs in which they are", "BPE", "held"),
        Range(low=1 - DELTA),  # which takes 72 runs without an exception
        paper="bpe",
    ),
    Claim(
        "theorem-2-growth",
        "Theorem 2",
        "With B batches the regret grows like T^((1 - eta) / (1 - eta^B)), with logarithms for the SE kernel.",
        Figure("power of T"),
        note="A rate: logarithms and constants hide it at any horizon that can be played. The bound itself, with its "
        "constants, is compared with regrets in batch-vs-theory, on the SE kernel.",
        paper="bpe",
    ),
    Claim(
        "theorem-3",
        "Theorem 3",
        "For any B batch lengths fixed in advance some function has regret of the same rate.",
        Figure("regret on the worst function"),
        note="It says that a bad function exists, which no run of a policy on given functions can confirm or refute.",
        paper="bpe",
    ),
)
