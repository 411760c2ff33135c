"""A search for violations of what policies state: confidence bands and regret bounds, on problems made to break them.

`python -m benchmarks.bands` prints the tables of `docs/robustness.md`, in half an hour; tests play a few runs of it.

Kernels are scaled by 1e-3 to 1e3, noise is 1e-3 to 10, the bound on the norm 1e-2 to 1e2, delta 0.1 to 0.5, arms are
from independent to nearly equal, and the norm of the mean is the bound exactly. A theorem for pulls that are chosen in
any way by what was seen is given those of an adversary that knows the mean and pulls where the error, or its share of
the half-width, is largest, until the band fails or the horizon ends. Other theorems are given the policy's own pulls. A
row counts the runs in which some mean was outside the band at any time, and those whose regret exceeds its bound.

| symbol | meaning | unit |
|---|---|---|
| `f` | mean of every arm | of the reward |
| `F` | RKHS norm of f, and the bound on it | |
| `xi` | standard deviation of the noise | of the reward |
| `kappa` | largest prior deviation | of the reward |
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.stats import binomtest

import agents
from agents import Agent, BoundInputs, Feedback, Pending
from agents.core.guarantees import guarantee_status, off_the_model, unmet_by_noise
from agents.core.information import greedy_information, largest_gain
from agents.sketched.base import least_oversampling
from gpbandit_envs.gp import SE, Kernel, Matern, Scale
from gpbandit_envs.noise import ArmNoise, BoundedNoise, GaussianNoise, Noise, StudentTNoise
from gpbandit_envs.problem import Problem

Means = Literal["ball", "prior", "drifting"]
Pulls = Literal["worst", "own"]

_ROUNDING = 1e-7
"""Of a mean and of a half-width: kernel matrices here have condition numbers of up to 1e12 before `lam` is added."""


@dataclass(frozen=True)
class Row:
    """A policy, and how it is attacked.

    Attributes:
        id: Its id.
        kwargs: Its arguments, besides delta.
        means: `"ball"`: functions of norm F; `"prior"`: draws from the prior, for Bayesian widths; `"drifting"`: such
            draws that change after every evaluation.
        pulls: `"worst"`: those of the adversary; `"own"`: those of the policy.
        noise: Name of the noise model.
        least_noise: Least standard deviation of the noise.
        off: What the mean or the feedback is off the model by: `"sup"` or `"corruption"`, of a random size.
        oversampled: Whether qbar is as large as the theorem asks.
        box: Whether the arms are points of a box, whose band is looked at there.
        delta: Allowed probability of failure; None for a random one.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    means: Means = "ball"
    pulls: Pulls = "worst"
    noise: str = "gaussian"
    least_noise: float = 1e-3
    off: Literal["", "sup", "corruption"] = ""
    oversampled: bool = False
    box: bool = False
    delta: float | None = None

    @property
    def name(self) -> str:
        """The row in words."""
        settings = [f"{key} {value}" for key, value in self.kwargs.items()]
        settings += ["least qbar of the theorem"] if self.oversampled else []
        settings += [f"off by {self.off}"] if self.off else []
        settings += [f"noise at least {self.least_noise:g}"] if self.least_noise > 1e-3 else []
        settings += [f"delta {self.delta:g}"] if self.delta else []
        settings += ["on a box"] if self.box else []
        settings += [self.noise.replace("_", " ") + " noise"] if self.noise not in ("gaussian", "by_arm") else []
        return ", ".join([self.id, *settings])


_ADAPTIVE = [
    replace(row, kwargs={**row.kwargs, "width": width})
    for row in (
        Row("GP-UCB"),
        Row("GP-BUCB", {"batch_size": 4}),
        Row("GP-AUCB"),
        Row("GP-UCB-PE", {"batch_size": 4}),
        Row("EC-GP-UCB", off="sup"),
        Row("RGP-UCB", off="corruption"),
    )
    for width in ("theory", "amm")
]
ROWS: tuple[Row, ...] = (
    *_ADAPTIVE,
    Row("GP-UCB", {"width": "dmm"}),
    Row("GP-UCB", {"width": "amm"}, noise="bounded"),
    Row("GP-UCB", {"width": "amm"}, noise="by_arm"),
    Row("GP-UCB", {"width": "amm"}, box=True),
    Row("GP-UCB", {"width": "dmm"}, box=True),
    Row("GP-UCB", {"width": "amm"}, pulls="own"),
    Row("GP-BUCB", {"width": "amm", "batch_size": 4}, pulls="own"),
    Row("GP-AUCB", {"width": "amm"}, pulls="own"),
    Row("GP-UCB-PE", {"width": "amm", "batch_size": 4}, pulls="own"),
    Row("MVR", {"width": "amm"}),
    Row("BKB", {"width": "proven"}, oversampled=True),
    Row("BKB", {"width": "proven"}, noise="bounded", oversampled=True),
    Row("BKB", {"width": "proven"}, pulls="own", oversampled=True),
    Row("BKB", {"width": "proven", "draws": "pull"}, oversampled=True),
    Row("BKB", {"width": "theory"}, least_noise=2.0, oversampled=True),
    Row("BBKB", {"width": "theory"}, least_noise=1.0, oversampled=True),
    Row("BBKB", {"width": "theory"}, pulls="own", least_noise=1.0, oversampled=True),
    *(
        Row(id, {**kwargs, "width": width}, pulls="own", noise=noise)
        for id, kwargs in (
            ("MVR", {}),
            ("BPE", {}),
            ("BPE", {"n_batches": 4}),
            ("REDS", {}),
            ("RGP-PE", {}),
            ("BPE-Delay", {}),
        )
        for width, noise in (("theory", "gaussian"), ("sub-gaussian", "bounded"))
    ),
    Row("RGP-PE", {"width": "theory", "enlargement": "tight"}, pulls="own", off="corruption"),
    Row("VA-PE", {"width": "theory"}, pulls="own", noise="by_arm"),
    Row("VA-MVR", {"width": "theory"}, pulls="own", noise="by_arm"),
    *(
        Row(id, {**kwargs, "width": "bayes"}, means="prior", pulls="own")
        for id, kwargs in (("GP-UCB", {}), ("GP-BUCB", {"batch_size": 4}), ("GP-AUCB", {}), ("GP-UCB-PE", {}))
    ),
    Row("TV-GP-UCB", {"width": "bayes"}, means="drifting", pulls="own"),
    Row("EC-GP-UCB", {"width": "bayes"}, means="prior", pulls="own", off="sup"),
    Row("RGP-UCB", {"width": "bayes"}, means="prior", pulls="own", off="corruption"),
)
"""What is guaranteed."""

CONTROLS: tuple[Row, ...] = (
    Row("BKB", {"width": "theory"}, oversampled=True),
    Row("GP-UCB", {"width": 2.0}),
    Row("GP-UCB", {"width": "amm", "norm_bound": {"times": 0.33}}),
    Row("GP-UCB", {"width": "amm"}, noise="student_t", delta=0.01),
    Row("GP-UCB", {"width": "amm"}, off="sup"),
    Row("GP-UCB", {"width": "bayes"}),
)
"""What is not, in the same search: a search that cannot find these finds nothing."""


@dataclass(frozen=True)
class Case:
    """A problem, and what the policy is not told of it.

    Attributes:
        problem: The problem.
        arms: Its arms, or points of its box.
        f: Mean of every arm, unit of the reward; the first, where it drifts.
        noise: The noise model on its arms.
        delta: Allowed probability of failure.
    """

    problem: Problem
    arms: Float[np.ndarray, "A d"]
    f: Float[np.ndarray, " A"]
    noise: Noise
    delta: float


@dataclass(frozen=True)
class Count:
    """What a row came to.

    Attributes:
        row: The row.
        counted: Runs that count: by default those in which the band was guaranteed.
        violated: In how many of them some mean was outside it, at any time.
        delta: Mean of their allowed probabilities.
        bounded: Runs with a regret bound.
        exceeded: Those of them whose regret exceeds it.
    """

    row: Row
    counted: int
    violated: int
    delta: float
    bounded: int
    exceeded: int

    @property
    def upper(self) -> float:
        """Clopper and Pearson's upper 95 % limit of the probability of a violation, one-sided."""
        return self._limits().high

    @property
    def lower(self) -> float:
        """Their lower 95 % limit, one-sided."""
        return self._limits().low

    def _limits(self) -> Any:
        return binomtest(self.violated, self.counted).proportion_ci(0.9, "exact")


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10 ** rng.uniform(np.log10(low), np.log10(high)))


def case(row: Row, rng: np.random.Generator) -> Case:
    """A random problem for a row."""
    dim, A, T = int(rng.integers(1, 3)), int(_log_uniform(rng, 4, 81)), int(rng.integers(20, 61))
    X = rng.random((A, dim))
    lengthscale, nu = _log_uniform(rng, 3e-3, 30.0), float(rng.choice([0.5, 1.5, 2.5]))
    shape: Kernel = SE(lengthscale) if rng.random() < 0.5 else Matern(lengthscale, nu)
    kernel = Scale(shape, _log_uniform(rng, 1e-3, 1e3))
    xi, F = _log_uniform(rng, row.least_noise, 10.0), _log_uniform(rng, 1e-2, 1e2)
    delta = float(rng.uniform(0.1, 0.5)) if row.delta is None else row.delta
    noise = _noise(row.noise, xi, A, rng).on(X)
    K = kernel(X, X)
    kappa = float(np.sqrt(K.diagonal().max()))
    f = _in_the_ball(K, F, rng) if row.means == "ball" else _draw(K, rng)
    size = _log_uniform(rng, 1e-2, 10.0) * kappa * (F if row.means == "ball" else 1.0)
    if row.off == "sup":
        f = f + size * rng.choice([-1.0, 1.0], A)
    problem = Problem(
        name="search",
        dim=dim,
        arms=None if row.box else X,
        kernel=kernel,
        noise_std=noise.std,
        noise_stds=noise.stds,
        noise_tails=noise.tails,
        norm_bound=F if row.means == "ball" else None,
        horizon=T,
        misspecification={row.off: size} if row.off else {},
        time_varying=row.means == "drifting",
        drift=_log_uniform(rng, 1e-3, 0.5) if row.means == "drifting" else None,
    )
    return Case(problem, X, f, noise, delta)


def _noise(name: str, xi: float, A: int, rng: np.random.Generator) -> Noise:
    if name == "by_arm":
        return ArmNoise(stds=10 ** rng.uniform(-3, 1, A))
    models: dict[str, Any] = {"gaussian": GaussianNoise, "bounded": BoundedNoise, "student_t": StudentTNoise}
    model: Noise = models[name](xi)
    return model


def _in_the_ball(K: Float[np.ndarray, "A A"], F: float, rng: np.random.Generator) -> Float[np.ndarray, " A"]:
    """`K w` of norm F: of random weights, of one arm, of signs that alternate, or along a random eigenvector."""
    A, kind = len(K), rng.integers(4)
    w: Float[np.ndarray, " A"]
    if kind == 0:
        w = rng.standard_normal(A)
    elif kind == 1:
        w = np.eye(A)[rng.integers(A)]
    elif kind == 2:
        w = np.where(np.arange(A) % 2 == 0, 1.0, -1.0)
    else:
        values, vectors = np.linalg.eigh(K)
        w = vectors[:, rng.choice(np.flatnonzero(values > 1e-9 * values[-1]))]
    square = float(w @ K @ w)
    if not square > 1e-9 * float(np.trace(K)) * float(w @ w) / A:  # alternating signs on nearly equal arms
        w = np.eye(A)[0]
        square = float(K[0, 0])
    return K @ w * (F / np.sqrt(square))


def _draw(K: Float[np.ndarray, "A A"], rng: np.random.Generator) -> Float[np.ndarray, " A"]:
    values, vectors = np.linalg.eigh(K)
    return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(K))))


def build(row: Row, found: Case) -> Agent:
    """The policy of a row, with the delta of the case."""
    kwargs = {**row.kwargs, "delta": found.delta}
    if row.oversampled:
        assert found.problem.horizon is not None
        kwargs["qbar"] = np.ceil(
            least_oversampling(found.problem.horizon, found.delta, 2.0 if row.id == "BBKB" else 1.0)
        )
    return agents.make(row.id, **kwargs)


def scaling(found: Case, agent: Agent, f: Float[np.ndarray, " A"]) -> Float[np.ndarray, " A"]:
    """Error over half-width at every arm, as of now, with what rounding may explain left out."""
    band = agent.predict(found.arms)
    assert band is not None
    rounding = _ROUNDING * max(float(np.abs(f).max()), 1e-300)
    error = np.abs(f - band[0]) - rounding
    return np.where(error <= 0, 0.0, error / np.maximum(band[1] * (1 + _ROUNDING), 1e-300))


def play(row: Row, found: Case, agent: Agent, rng: np.random.Generator) -> tuple[bool, float]:
    """Whether the band failed at any time, and the regret; an adversary stops once it has failed."""
    problem, f = found.problem, found.f
    assert problem.horizon is not None
    assert problem.kernel is not None
    K = problem.kernel(found.arms, found.arms)
    agent.reset(problem, rng)
    budget, goal = problem.misspecification.get("corruption", 0.0), rng.choice(["share", "share", "error", "new"])
    nothing, played, failed, regret = Pending.empty(problem), 0, False, 0.0
    while played < problem.horizon and not (failed and row.pulls == "worst"):
        if row.pulls == "worst":
            arms = np.array([_worst(found, agent, goal, rng)])
        else:
            arms = agent.select(problem.horizon - played if agent.capabilities.batch == "adaptive" else 1, nothing)
        rewards = found.noise.reward(f[arms], arms, found.noise.draw(rng, len(arms)))
        if budget > 0:  # spent at once, on a whole batch, or half of what is left
            spent = budget if rng.random() < 0.2 else 0.5 * budget
            rewards, budget = rewards + spent / len(arms) * rng.choice([-1.0, 1.0]), budget - spent
        actions = found.arms[arms] if row.box else arms
        agent.observe(Feedback.of(np.arange(played, played + len(arms)), actions, rewards))
        played, regret = played + len(arms), regret + float((f.max() - f[arms]).sum())
        if problem.drift is not None:
            f = np.sqrt(1 - problem.drift) * f + np.sqrt(problem.drift) * _draw(K, rng)
        failed |= bool((scaling(found, agent, f) > 1).any())
    return failed, regret


def _worst(found: Case, agent: Agent, goal: str, rng: np.random.Generator) -> int:
    """The arm that the adversary pulls: now and then any, so as not to stay at one."""
    if rng.random() < 0.1:
        return int(rng.integers(len(found.arms)))
    if goal == "share":
        return int(np.argmax(scaling(found, agent, found.f)))
    band = agent.predict(found.arms)
    assert band is not None
    return int(np.argmax(np.abs(found.f - band[0]) if goal == "error" else band[1]))


def run(row: Row, number: int) -> tuple[str, bool, float, bool | None]:
    """One run: why the band is not guaranteed, whether it failed, delta, and whether the regret exceeds its bound."""
    rng = np.random.default_rng(np.random.SeedSequence([number, *row.name.encode()]))
    found = case(row, rng)
    agent = build(row, found)
    failed, regret = play(row, found, agent, rng)
    bound = None if row.pulls == "worst" else regret_bound(found, agent)
    return (
        guarantee_status(agent.band_guarantee(), found.problem),
        failed,
        found.delta,
        None if bound is None else regret > bound * (1 + _ROUNDING),
    )


def regret_bound(found: Case, agent: Agent) -> float | None:
    """The bound on the regret that the policy states at the horizon; None if it states none."""
    problem = found.problem
    if problem.time_varying:
        return None
    assert problem.horizon is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    T, kappa2, lam = problem.horizon, float(problem.kernel.diag(found.arms).max()), problem.noise_std**2
    gamma = largest_gain(greedy_information(problem.kernel, found.arms, lam, T).gain, kappa2, lam)
    d_eff = agent.diagnostics().get("d_eff")
    stated = agent.regret_guarantee(BoundInputs(problem, T, gamma, d_eff, kappa2, problem.noise_std))
    unmet = unmet_by_noise(problem, stated.gaussian_noise) or off_the_model(problem) - stated.tolerates
    return None if unmet else stated.bound


def count(row: Row, runs: int, claimed_alone: bool = True) -> Count:
    """Play the first `runs` runs of a row.

    Args:
        row: The row.
        runs: How many.
        claimed_alone: Whether a run counts only if the band is guaranteed.
    """
    results = [run(row, number) for number in range(runs)]
    counted = [(failed, delta) for why, failed, delta, _ in results if not (why and claimed_alone)]
    bounds = [exceeded for *_, exceeded in results if exceeded is not None]
    return Count(
        row,
        len(counted),
        sum(failed for failed, _ in counted),
        float(np.mean([delta for _, delta in counted])) if counted else float("nan"),
        len(bounds),
        sum(bounds),
    )


_HEAD = """| policy | pulls | runs | violated | upper limit | delta on average | regret above its bound |
|---|---|---|---|---|---|---|"""
_HEAD_OF_CONTROLS = """| policy | pulls | runs | violated | lower limit | delta on average |
|---|---|---|---|---|---|"""


def _line(found: Count, control: bool) -> str:
    limit = found.lower if control else found.upper
    cells = [found.row.name, "the adversary's" if found.row.pulls == "worst" else "its own", f"{found.counted:,}"]
    cells += [f"{found.violated:,}", f"{limit:.1%}", f"{found.delta:.0%}"]
    if not control:
        cells.append(f"{found.exceeded} of {found.bounded:,}" if found.bounded else "")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print both tables; 1 if a row that is guaranteed may fail more often than delta."""
    parser = argparse.ArgumentParser(description="Prints both tables.")
    parser.add_argument("--runs", type=int, default=1_000, help="runs of a row")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    started, broken = perf_counter(), 0
    with ProcessPoolExecutor(given.workers) as pool:
        print(_HEAD)
        for found in pool.map(partial(count, runs=given.runs), ROWS):
            print(_line(found, control=False), flush=True)
            broken += found.upper > found.delta or (found.bounded > 0 and found.exceeded > found.delta * found.bounded)
        print(f"\n{_HEAD_OF_CONTROLS}")
        for found in pool.map(partial(count, runs=given.runs, claimed_alone=False), CONTROLS):
            print(_line(found, control=True), flush=True)
    print(f"\n{broken} rows broken; {perf_counter() - started:.0f} s")
    return int(broken > 0)


if __name__ == "__main__":
    raise SystemExit(main())
