"""DMM: the radius against the textbook in extended precision, the band it gives, and what refutes it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import agents
from agents import Feedback, Pending
from agents.core.widths import AnalyticMixture, WidthContext
from agents.exact.dual_mixture import DualArms, DualMixture, Evidence, intersection
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, gram, noisy, play
from tests.reference import policies
from tests.reference.posterior import dense, dual_squares

GRID = DualMixture().grid
LAMS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)
LENGTHSCALES = (0.05, 0.3, 1.0, 17.5, 1e4)
FAST = {(lam, lengthscale) for lam in (1e-8, 1e-4, 100.0) for lengthscale in (0.05, 1.0, 1e4)}


def context_of(gain: float, lam: float, noise_std: float, F: float) -> WidthContext:
    return WidthContext(t=2, n_arms=9, lam=lam, noise_std=noise_std, norm_bound=F, delta=0.05, information_gain=gain)


def pulls_of(kind: str, n_arms: int, rng: np.random.Generator) -> np.ndarray:
    """Pulls at random, of which some are duplicates, or a long run of one arm among others."""
    if kind == "run":
        return np.r_[rng.integers(n_arms, size=20), np.full(120, 3), rng.integers(n_arms, size=10)]
    return rng.integers(n_arms, size=70)


@pytest.mark.parametrize("kind", ["random", "duplicates", "run"])
@pytest.mark.parametrize(
    ("lam", "lengthscale"),
    [
        pytest.param(*pair, marks=() if pair in FAST else pytest.mark.slow)
        for pair in itertools.product(LAMS, LENGTHSCALES)
    ],
)
def test_the_radius_by_rank_one_updates_is_the_textbooks(lam: float, lengthscale: float, kind: str) -> None:
    rng = np.random.default_rng(7)
    X = rng.random((24, 2))
    if kind == "duplicates":
        X[8:16], X[16:] = X[:8], X[:8] + 1e-9
    kernel, xi, F = SE(lengthscale), np.sqrt(lam), 2.0
    f = kernel(X, X[:5]) @ rng.standard_normal(5)
    f *= F / max(np.abs(f).max(), 1.0)
    arms = pulls_of(kind, len(X), rng)
    y = f[arms] + xi * rng.standard_normal(len(arms))
    dual = DualArms(ExactPosterior(kernel, X, lam), GRID)
    for arm, value in zip(arms.tolist(), y.tolist()):
        for posterior in dual.posteriors:
            posterior.update_one(arm, value)
    found_gain = dual.posteriors[0].information_gain
    factors = DualMixture().factors(context_of(found_gain, lam, xi, F), dual.misfits())
    a = lam * np.array(GRID)
    squares, scale = dual_squares(kernel(X, X), arms, y, lam, a, xi, F, 0.05)
    # Relative to the largest term of the sum, since a difference has the rounding of its terms. Beside k(x, x) = 1 the
    # dense formula in double precision knows lam to an eps of it: at lam = 1e-8 its own error is 2e-8.
    allowed = max(1e-8, 4 * np.finfo(float).eps / lam)
    assert np.isfinite(factors).all() or (squares[np.isinf(factors)] < 0).all()
    kept = np.isfinite(factors)
    assert kept[0]
    assert (np.abs(factors[kept] ** 2 * a[kept] - np.maximum(squares, 0.0)[kept]) <= allowed * scale[kept]).all()


def test_feedback_that_comes_together_gives_the_same_radius() -> None:
    rng = np.random.default_rng(3)
    X, lam = rng.random((9, 1)), 0.01
    arms, y = rng.integers(9, size=40), rng.standard_normal(40)
    one, together = (DualArms(ExactPosterior(SE(0.3), X, lam), GRID) for _ in range(2))
    for arm, value in zip(arms.tolist(), y.tolist()):
        for posterior in one.posteriors:
            posterior.update_one(arm, value)
    distinct = np.unique(arms)
    counts = np.array([(arms == arm).sum() for arm in distinct], float)
    sums = np.array([y[arms == arm].sum() for arm in distinct])
    for posterior in together.posteriors:
        posterior.update(distinct, counts, sums)
    np.testing.assert_allclose(
        one.misfits() - one.misfits()[0], together.misfits() - together.misfits()[0], rtol=1e-9, atol=1e-9
    )


def problem_of(
    seed: int, kernel: Kernel, n_arms: int = 60, noise_std: float = 0.1, F: float = 1.5
) -> tuple[Problem, np.ndarray]:
    """A problem with a mean of norm `F`, and the mean."""
    rng = np.random.default_rng(seed)
    X, C = rng.random((n_arms, 2)), rng.random((20, 2))
    w = rng.standard_normal(20)
    mean = kernel(X, C) @ w * (F / np.sqrt(w @ kernel(C, C) @ w))
    return Problem(name="test", dim=2, arms=X, kernel=kernel, noise_std=noise_std, norm_bound=F, horizon=60), mean


PROBLEMS = [
    problem_of(0, SE(0.3)),
    problem_of(1, Matern(0.5, 1.5), noise_std=0.02),
    problem_of(2, SE(2.0), noise_std=1.0),
    problem_of(3, SE(0.05), n_arms=200),
    problem_of(5, SE(0.5), n_arms=1),
]


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize("grid", [(1.0, 3.0, 10.0, 30.0, 100.0, 300.0), (1.0, 0.2, 50.0)])
def test_it_chooses_as_the_textbook(problem: Problem, mean: np.ndarray, grid: tuple[float, ...]) -> None:
    xi = problem.noise_std or 0.0
    K = gram(problem)
    expected = policies.gp_ucb_dmm(K, xi**2, xi, 1.5, 1 / 60, grid, 60, noisy(mean, xi, 6))
    agent = agents.make("GP-UCB", width={"name": "dmm", "grid": list(grid)})
    assert play(agent, problem, noisy(mean, xi, 6), 0) == expected.batches


def test_the_noise_of_the_bound_need_not_be_that_of_the_posterior() -> None:
    problem, mean = PROBLEMS[0]
    K = gram(problem)
    expected = policies.gp_ucb_dmm(K, 0.5, 0.1, 1.5, 0.2, GRID, 60, noisy(mean, 0.1, 6))
    agent = agents.make("GP-UCB", width="dmm", lam=0.5, delta=0.2)
    assert play(agent, problem, noisy(mean, 0.1, 6), 0) == expected.batches


def test_with_lam_alone_it_is_amm() -> None:
    problem, mean = PROBLEMS[0]
    found = [
        play(agents.make("GP-UCB", width=width), problem, noisy(mean, 0.1, 1), 0)
        for width in ({"name": "dmm", "grid": [1]}, "amm", AnalyticMixture())
    ]
    assert found[0] == found[1] == found[2]


def fed(problem: Problem, mean: np.ndarray, n: int = 40, **kwargs: Any) -> Any:
    """GP-UCB after `n` evaluations at random arms."""
    agent = begun(problem, "GP-UCB", **kwargs)
    rng = np.random.default_rng(5)
    for t, arm in enumerate(rng.integers(problem.n_arms, size=n)):
        y = mean[arm] + (problem.noise_std or 0.0) * rng.standard_normal()
        agent.observe(Feedback.of([t], np.array([arm]), [y]))
    return agent


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS[:4])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_the_bands_are_nested(problem: Problem, mean: np.ndarray, n: int) -> None:
    """On the same data every end of DMM lies within AMM, and AMM is narrower than the theorem's."""
    (c, half), (amm_c, amm), (theory_c, theory) = (
        fed(problem, mean, n, width=width).predict(problem.arms) for width in ("dmm", "amm", "theory")
    )
    assert (amm < theory).all()
    assert (c + half <= amm_c + amm + 1e-9).all()
    assert (c - half >= amm_c - amm - 1e-9).all()
    np.testing.assert_allclose(amm_c, theory_c)
    assert (half >= 0).all()


class TestRefuted:
    def test_a_norm_that_is_far_too_small_is_refuted_and_reported(self) -> None:
        problem, mean = problem_of(0, SE(0.3), F=5.0)
        agent = fed(problem, mean, width="dmm", norm_bound=0.05)
        assert agent.refuted
        assert agent.diagnostics()["refuted"] == 1.0
        assert agent.band_guarantee().refuted
        middle, half = agent.predict(problem.arms)
        assert np.isfinite(middle).all()
        assert (half >= 0).all()
        assert 0 <= agent.select(1, Pending.empty(problem))[0] < problem.n_arms

    def test_noise_that_is_stated_too_small_is_refuted(self) -> None:
        problem, mean = problem_of(0, SE(0.3), noise_std=0.001)
        loud = mean + np.random.default_rng(0).standard_normal(len(mean))
        assert fed(problem, loud, width="dmm").refuted

    def test_it_is_forgotten_at_reset(self) -> None:
        problem, mean = problem_of(0, SE(0.3), F=5.0)
        agent = fed(problem, mean, width="dmm", norm_bound=0.05)
        agent.reset(problem, np.random.default_rng(0))
        assert not agent.refuted

    def test_noise_free_feedback_is_no_evidence_against_the_norm(self) -> None:
        problem, mean = problem_of(0, SE(0.5), noise_std=0.0)
        agent = fed(problem, mean, width="dmm")
        assert not agent.refuted
        assert np.isfinite(agent.predict(problem.arms)[1]).all()

    @pytest.mark.parametrize("width", ["theory", "amm"])
    def test_other_widths_do_not_tell(self, width: str) -> None:
        problem, mean = problem_of(0, SE(0.3), F=5.0)
        agent = fed(problem, mean, width=width, norm_bound=0.05)
        assert "refuted" not in agent.diagnostics()
        assert not agent.band_guarantee().refuted


class TestBox:
    PROBLEM = Problem(name="box", dim=2, kernel=Matern(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)

    def fed(self, **kwargs: Any) -> Any:
        agent = begun(self.PROBLEM, "GP-UCB", **kwargs)
        rng = np.random.default_rng(1)
        for t, x in enumerate(rng.random((15, 2))):
            agent.observe(Feedback.of([t], x[None], [0.3 * np.sin(5 * x[0]) + 0.1 * rng.standard_normal()]))
        return agent

    def test_its_band_is_the_textbooks(self) -> None:
        agent, Z = self.fed(width="dmm"), np.random.default_rng(2).random((30, 2))
        X, y, kernel = agent.beliefs.X, agent.beliefs.y, Matern(0.3)
        every = np.vstack([X, Z])
        K, arms = kernel(every, every), np.arange(15)
        squares, _ = dual_squares(K, arms, y, 0.01, 0.01 * np.array(GRID), 0.1, 2.0, 1 / 50)
        lower, upper = np.full(30, -np.inf), np.full(30, np.inf)
        for a, square in zip(0.01 * np.array(GRID), squares):
            mean, variance = (part[15:] for part in dense(K, arms, y, a))
            half = np.sqrt(square / a * variance)
            lower, upper = np.maximum(lower, mean - half), np.minimum(upper, mean + half)
        middle, half = agent.predict(Z)
        np.testing.assert_allclose(middle, (lower + upper) / 2, atol=1e-8)
        np.testing.assert_allclose(half, (upper - lower) / 2, atol=1e-8)

    def test_it_maximises_its_bound(self) -> None:
        agent = self.fed(width="dmm")
        grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
        middle, half = agent.predict(grid)
        x = agent.select(1, Pending.empty(self.PROBLEM))
        at, width = agent.predict(x)
        assert at + width >= (middle + half).max() - 1e-6

    def test_slopes_are_those_of_the_bound(self) -> None:
        agent = self.fed(width="dmm")
        from agents.exact.dual_mixture import _DualUpperBound

        bound = _DualUpperBound(agent.beliefs._posteriors, agent.beliefs.intersected)
        X = np.random.default_rng(3).random((40, 2))
        value, slope = bound.with_gradient(X)
        np.testing.assert_allclose(value, bound(X), rtol=1e-12)
        for j in range(2):
            step = np.zeros(2)
            step[j] = 1e-6
            np.testing.assert_allclose((bound(X + step) - bound(X - step)) / 2e-6, slope[:, j], rtol=1e-4, atol=1e-5)


class TestRefused:
    @pytest.mark.parametrize("id", ["GP-BUCB", "GP-AUCB", "NTB-UCB", "SM-UCB", "BKB", "BBKB"])
    def test_by_every_policy_but_gp_ucb(self, id: str) -> None:
        with pytest.raises(ValueError, match="width: a dual mixture is for GP-UCB"):
            agents.make(id, width=DualMixture())
        with pytest.raises(ValueError, match=r"width: expected one of 'theory', .*'amm'.* got 'dmm'"):
            agents.make(id, width="dmm")

    def test_with_a_norm_to_be_doubled(self) -> None:
        with pytest.raises(ValueError, match="width: a dual mixture is for no norm that is doubled"):
            agents.make("GP-UCB", width="dmm", norm_bound="double")

    @pytest.mark.parametrize(
        "grid", [[], [0.0], [-1.0, 2.0], [float("inf")], [float("nan")], ["x"], 3, None, [10**400], [1e51]]
    )
    @pytest.mark.wrong_arguments
    def test_a_grid_of_other_than_positive_numbers(self, grid: object) -> None:
        with pytest.raises(ValueError, match="grid: expected finite numbers > 0"):
            agents.make("GP-UCB", width={"name": "dmm", "grid": grid})

    @pytest.mark.parametrize(
        ("width", "said"),
        [
            ({"name": "dmn"}, "width: expected one of 'theory'"),
            ({"grid": [1]}, "width: expected one of 'theory'"),
            ({"name": "dmm", "gird": [1]}, "'dmm' has grid, got gird"),
            ({"name": "amm", "grid": [1]}, "'amm' has scale, got grid"),
            ({"name": "dmm", "scale": 0.5}, "'dmm' has grid, got scale"),
            ({"name": "bayes", 3: 1, "x": 1}, "'bayes' has scale, got 3, x"),
            ({"name": "bayes", "scale": 10**400}, "scale: expected a finite number > 0, got 1000"),
            ({"name": "bayes", "scale": -1}, "scale: expected a finite number > 0, got -1"),
            ({"name": "bayes", "scale": 1e51}, "scale: expected a finite number > 0, between 1e-50 and 1e\\+50 in"),
        ],
    )
    def test_other_settings(self, width: object, said: str) -> None:
        with pytest.raises(ValueError, match=said):
            agents.make("GP-UCB", width=width)

    @pytest.mark.parametrize("scale", ["wide", [1.0], True])
    def test_a_scale_that_is_no_number(self, scale: object) -> None:
        with pytest.raises(TypeError, match="scale: expected a finite number > 0, got"):
            agents.make("GP-UCB", width={"name": "bayes", "scale": scale})


def test_the_grid_begins_with_one_and_has_each_value_once() -> None:
    assert DualMixture((30.0, 0.5, 30.0)).grid == (1.0, 0.5, 30.0)


def largest(kernel: Kernel, X: np.ndarray, y: np.ndarray, point: np.ndarray, sign: float, r: float, F: float) -> float:
    """The largest `sign * f` in the ellipsoid of the data and the ball of the norm."""
    every = np.vstack([X, point])
    L = np.linalg.cholesky(kernel(every, every) + 1e-9 * np.eye(len(every)))
    held = [
        {"type": "ineq", "fun": lambda v: F**2 - v @ v, "jac": lambda v: -2 * v},
        {
            "type": "ineq",
            "fun": lambda v: r**2 - np.sum((L[:-1] @ v - y) ** 2),
            "jac": lambda v: -2 * L[:-1].T @ (L[:-1] @ v - y),
        },
    ]
    found = minimize(
        lambda v: -sign * L[-1] @ v, np.zeros(len(L)), jac=lambda _: -sign * L[-1], method="SLSQP", constraints=held,
        options={"maxiter": 2_000, "ftol": 1e-11},
    )  # fmt: skip
    assert found.success, found.message
    return -sign * float(found.fun)


@pytest.mark.parametrize("kernel", [SE(0.2), Matern(0.4)], ids=repr)
@pytest.mark.parametrize("n", [1, 12])
def test_the_intersection_of_all_multipliers_is_cmm(kernel: Kernel, n: int) -> None:
    """Strong duality: CMM is DMM on a grid of all regularisers."""
    lam, xi, F, delta = 0.01, 0.1, 1.5, 0.05
    rng = np.random.default_rng(0)
    X, C, w = rng.random((25, 2)), rng.random((9, 2)), rng.standard_normal(9)
    f = kernel(X, C) @ w * (F / np.sqrt(w @ kernel(C, C) @ w))
    y = f[:n] + xi * rng.standard_normal(n)
    band = DualMixture(tuple(np.geomspace(1e-3, 1e5, 400).tolist()))
    dual = DualArms(ExactPosterior(kernel, X, lam), band.grid)
    for arm, value in enumerate(y.tolist()):
        for posterior in dual.posteriors:
            posterior.update_one(arm, value)
    gain = dual.posteriors[0].information_gain
    context = WidthContext(t=n + 1, n_arms=25, lam=lam, noise_std=xi, norm_bound=F, delta=delta, information_gain=gain)
    dual_band = band.band(context, Evidence(dual.misfits()), ())
    lower, upper = intersection(((p.mean, p.variance) for p in dual.posteriors), dual_band)
    A = kernel(X[:n], X[:n]) + lam * np.eye(n)
    gain = 0.5 * (np.linalg.slogdet(A)[1] - n * np.log(lam))
    r = np.sqrt(lam * y @ np.linalg.solve(A, y) + xi**2 * (2 * gain + 2 * np.log(1 / delta)))
    for i in range(n, 25, 3):
        ends = [largest(kernel, X[:n], y, X[i], sign, r, F) for sign in (-1.0, 1.0)]
        np.testing.assert_allclose(ends, [lower[i], upper[i]], atol=2e-4)
