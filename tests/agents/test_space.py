"""Where a score is looked for: arms, boxes, and scores on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from agents import Feedback, Pending
from agents.core.acquisition import LogExpectedImprovement, PosteriorScore, Predictive, Score, UpperConfidenceBound
from agents.core.finite import Offer
from agents.core.maximise import finite_values, maximise
from agents.core.space import ArmSpace, Search, SearchFields
from agents.core.ucb import UCBAgent
from agents.learned.base import Mixture
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem
from tests.agents.play import begun


@dataclass
class Given:
    """A posterior of given mean and variance, as functions of the first coordinate."""

    mean: np.ndarray
    variance: np.ndarray
    bound: np.ndarray | None = None
    asked: list[int] = field(default_factory=list)
    bounded: list[int] = field(default_factory=list)

    def at(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(len(Z))
        i = self._arms(Z)
        return self.mean[i], self.variance[i]

    def mean_and_bound(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self.bound is not None
        self.bounded.append(len(Z))
        i = self._arms(Z)
        return self.mean[i], self.bound[i]

    def at_with_gradient(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        raise AssertionError("arms have no gradient")

    def _arms(self, Z: np.ndarray) -> np.ndarray:
        return np.rint(Z[:, 0] * (len(self.mean) - 1)).astype(int)


def space(n: int) -> ArmSpace:
    return ArmSpace(Problem(name="line", dim=1, arms=np.linspace(-3, 5, n)[:, None], noise_std=0.1))


def every(arms: ArmSpace) -> Offer:
    return Offer.all(arms.problem)


NOTHING = np.zeros((0, 1))


def test_all_arms_are_evaluated_once_for_the_recommendation_and_the_next_arm() -> None:
    rng = np.random.default_rng(0)
    arms = space(1_000)
    given = Given(rng.normal(size=1_000), rng.random(1_000))
    best = arms.best(given, np.zeros(0, np.int64), every(arms))
    chosen = arms.best_score(UpperConfidenceBound(1.5), given, NOTHING, rng, every(arms))
    assert best == given.mean.argmax()
    assert chosen.tolist() == [(given.mean + 1.5 * np.sqrt(given.variance)).argmax()]
    assert given.asked == [1_000]
    other = Given(-given.mean, given.variance)
    assert arms.best(other, np.zeros(0, np.int64), every(arms)) == given.mean.argmin()


@pytest.mark.parametrize("some", [None, np.arange(3, 20_000, 2)], ids=["all", "half"])
def test_of_many_arms_those_that_may_win_are_evaluated(some: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    arms, among = space(20_000), np.arange(20_000) if some is None else some
    variance = rng.random(20_000)
    given = Given(rng.normal(size=20_000), variance, variance + 0.3 * rng.random(20_000))
    offered = every(arms) if some is None else Offer.among(some, arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), offered) == among[given.mean[among].argmax()]
    chosen = arms.best_score(UpperConfidenceBound(1.5), given, NOTHING, rng, offered)
    upper = given.mean + 1.5 * np.sqrt(given.variance)
    assert chosen.tolist() == [among[upper[among].argmax()]]
    assert 0 < sum(given.asked) < 1_000
    assert given.bounded == [20_000] if some is None else [len(among)] * 2


def test_of_many_arms_too_ties_go_to_the_lowest_index() -> None:
    arms, rng = space(5_000), np.random.default_rng(0)
    # The larger the index the larger the bound, so that the tie of arm 7 is found in the last of the blocks.
    tied = np.isin(np.arange(5_000), [7, 11, 4_990])
    given = Given(np.zeros(5_000), tied * 1.0, 1.0 + np.arange(5_000.0))
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, every(arms)).tolist() == [7]
    assert sum(given.asked) == 5_000


def test_of_many_arms_a_score_that_is_no_finite_number_is_an_error() -> None:
    arms, rng = space(2_000), np.random.default_rng(0)
    unknown, infinite = np.full(2_000, np.nan), np.full(2_000, np.inf)
    for mean, variance, what in ((np.zeros(2_000), unknown, "nan"), (infinite, np.ones(2_000), "inf")):
        given = Given(mean, variance, np.ones(2_000))
        with pytest.raises(ValueError, match=f"expected finite values, got {what}"):
            arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, every(arms))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", [UpperConfidenceBound(0.1), UpperConfidenceBound(5.0), LogExpectedImprovement(0.9)])
def test_the_next_of_many_arms_is_that_of_largest_score(score: Score, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.random((3_001, 3))
    arms = ArmSpace(Problem(name="cube", dim=3, arms=features, noise_std=0.1))
    X = arms.coordinates(rng.integers(3_001, size=60))
    y = np.sin(9 * X[:, 0]) * X[:, 1]
    parts = [GPRegression(SE((length, 0.3, 1.0)), X, y, noise) for length, noise in ((0.1, 1e-2), (0.3, 1e-8))]
    posteriors: list[Predictive] = [*parts, Mixture(parts)]
    for posterior in posteriors:
        mean, variance = posterior.at(arms.coordinates(np.arange(3_001)))
        chosen = int(arms.best_score(score, posterior, X, rng, every(arms))[0])
        values = score(mean, np.sqrt(variance))
        # Equal features give equal scores up to rounding.
        assert values[chosen] >= values.max() - 1e-9 * np.abs(values.max())


@pytest.mark.parametrize(("n_arms", "evaluation"), [(301, "at"), (1_301, "mean_and_bound")])
@pytest.mark.parametrize("id", ["MAP-UCB", "A-GP-UCB", "MCMC-UCB"])
def test_a_recommendation_evaluates_nothing_that_is_not_timed(
    id: str, n_arms: int, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = space(n_arms).problem
    evaluate, asked = getattr(GPRegression, evaluation), [0]

    def counted(self: GPRegression, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked[0] += len(Z) == n_arms
        answer: tuple[np.ndarray, np.ndarray] = evaluate(self, Z)
        return answer

    monkeypatch.setattr(GPRegression, evaluation, counted)
    agent = begun(problem, id, n_initial=3, **({"burn_in": 2, "samples": 1} if id == "MCMC-UCB" else {}))
    for t in range(8):
        chosen = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], chosen, np.sin(chosen)))
        before = asked[0]
        agent.recommend()
        assert asked[0] == before or agent.explores
    assert asked[0] == 8


def test_of_arms_offered_only_these_are_evaluated() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.arange(9.0), np.zeros(9))
    some = Offer.among(np.array([1, 4, 6]), arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), some) == 6
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, some).tolist() == [6]
    assert arms.best(given, np.zeros(0, np.int64), every(arms)) == 8
    assert given.asked == [3, 3, 9]


def test_ties_go_to_the_lowest_index() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.array([0.0, 2, 1, 2, 2, 0, 0, 0, 0]), np.ones(9))
    some = Offer.among(np.array([2, 4]), arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), every(arms)) == 1
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, some).tolist() == [4]


def test_a_posterior_of_no_finite_numbers_is_an_error() -> None:
    given, arms = Given(np.full(9, np.inf), np.ones(9)), space(9)
    with pytest.raises(ValueError, match="expected finite values, got inf"):
        arms.best(given, np.zeros(0, np.int64), every(arms))


def test_fields_of_a_search_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(TypeError, match="Late: expected SearchFields before GPAgent among its bases"):
        type("Late", (UCBAgent, SearchFields), {})
    class_ = type("Early", (SearchFields, UCBAgent), {})
    own: Any = type("Own", (class_,), {"search": lambda _: Search(7, 7, 7)})
    assert own.search is not SearchFields.search


# ---- acquisition functions against their integrals, far into the tails, and their slopes against differences ----


def log_improvement(z: float) -> float:
    """`log E max(Z + z, 0)`, by the integral with the density at 0 taken out, so that nothing underflows."""
    scale = max(1.0, abs(z))
    integral = quad(lambda u: u * np.exp(z * u / scale - 0.5 * (u / scale) ** 2), 0, np.inf, epsabs=0, epsrel=1e-12)[0]
    return float(-0.5 * z * z - 0.5 * np.log(2 * np.pi) + np.log(integral / scale**2))


@pytest.mark.parametrize("z", [-1e6, -2e3, -999.0, -300.0, -40.0, -5.0, -1.001, -0.999, 0.0, 1.3, 6.0])
def test_log_expected_improvement_is_its_integral(z: float) -> None:
    score = LogExpectedImprovement(2.0)
    s = np.array([0.5])
    assert score(2.0 + z * s, s)[0] == pytest.approx(log_improvement(z) + np.log(0.5), rel=1e-9, abs=1e-9)


def test_log_expected_improvement_is_the_log_of_the_textbook_formula() -> None:
    m, s = np.random.default_rng(0).normal(size=(2, 100))
    s, z = np.abs(s), (m - 0.3) / np.abs(s)
    expected = (m - 0.3) * ndtr(z) + s * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    keep = expected > 1e-6
    np.testing.assert_allclose(np.exp(LogExpectedImprovement(0.3)(m, s))[keep], expected[keep], rtol=1e-7)


def test_far_above_and_without_uncertainty() -> None:
    """No infinity or NaN reaches an argmax: what is certain improves by what it is above, or hopelessly little."""
    score = LogExpectedImprovement(1.0)
    np.testing.assert_allclose(score(np.array([4.0, 101.0]), np.array([1e-9, 1.0])), np.log([3.0, 100.0]))
    values = score(np.array([1.0, 0.5, -1e9]), np.zeros(3))
    assert np.isfinite(values).all()
    assert values[0] > values[1] >= values[2]
    assert np.isfinite(score.slopes(np.array([2.0, 1.0, 0.5]), np.full(3, 1e-9))).all()


@pytest.mark.parametrize("score", [LogExpectedImprovement(0.2), UpperConfidenceBound(1.7)], ids=str)
def test_slopes(score: Score) -> None:
    m = np.concatenate([np.linspace(-3, 3, 61), [-60.0, -300.0, -500.0]])
    s = np.full_like(m, 0.4)
    by_m, by_s = score.slopes(m, s)
    step = 1e-5
    np.testing.assert_allclose((score(m + step, s) - score(m - step, s)) / (2 * step), by_m, rtol=1e-6)
    np.testing.assert_allclose((score(m, s + step) - score(m, s - step)) / (2 * step), by_s, rtol=1e-6, atol=1e-6)


def test_slopes_continue_where_the_formula_changes() -> None:
    score = LogExpectedImprovement(0.0)
    for z in (-1.0, -1e3):
        around = np.array([z * (1 + 1e-9), z * (1 - 1e-9)])
        for values in (score(around, np.ones(2)), *score.slopes(around, np.ones(2))):
            assert values[0] == pytest.approx(values[1], rel=1e-8)


class Bowl:
    """Mean `-|x|^2`, standard deviation `1 + x_0`."""

    def at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.square(X).sum(axis=1), (1 + X[:, 0]) ** 2

    def mean_and_bound(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.at(X)

    def at_with_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return -np.square(X).sum(axis=1), 1 + X[:, 0], -2 * X, np.tile([1.0, 0.0], (len(X), 1))


@pytest.mark.parametrize("score", [LogExpectedImprovement(0.5), UpperConfidenceBound(2.0)], ids=str)
def test_chain_rule(score: Score) -> None:
    X = np.random.default_rng(1).random((20, 2))
    objective = PosteriorScore(score, Bowl())
    values, G = objective.with_gradient(X)
    np.testing.assert_allclose(values, objective(X), rtol=1e-14)
    for j in range(2):
        step = 1e-6 * np.eye(2)[j]
        forward, back = objective(X + step), objective(X - step)
        np.testing.assert_allclose((forward - back) / 2e-6, G[:, j], rtol=1e-5, atol=1e-7)


# ---- acquisition maximisation finds maxima that are known, and says so when it is given nonsense ----


Pair = tuple[np.ndarray, np.ndarray]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def quadratic(centre: np.ndarray) -> Callable[[np.ndarray], Pair]:
    """`-|x - centre|^2`."""
    return lambda X: (-np.square(X - centre).sum(axis=1), -2 * (X - centre))


def hartmann6(X: np.ndarray) -> Pair:
    """Maximum 3.32236801 at a known point."""
    A = np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    )
    P = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    difference = X[:, None, :] - P
    terms = np.array([1.0, 1.2, 3.0, 3.2]) * np.exp(-(A * difference**2).sum(axis=2))
    return terms.sum(axis=1), -2 * (terms[:, :, None] * A * difference).sum(axis=1)


def peaks(X: np.ndarray) -> Pair:
    """Four bumps of nearly equal height in a plane that is flat between them; the highest, 1, is at (0.8, 0.3)."""
    centres = np.array([[0.8, 0.3], [0.2, 0.2], [0.3, 0.8], [0.7, 0.7]])
    heights = np.array([1.0, 0.97, 0.98, 0.96])
    difference = X[:, None, :] - centres
    terms = heights * np.exp(-0.5 * (difference**2).sum(axis=2) / 0.05**2)
    return terms.sum(axis=1), -(terms[:, :, None] * difference).sum(axis=1) / 0.05**2


@pytest.mark.parametrize("seed", range(5))
def test_known_maxima(seed: int) -> None:
    x, value = maximise(hartmann6, Domain.cube(6), rng(seed))
    assert value == pytest.approx(3.322368011415512, abs=1e-8)
    np.testing.assert_allclose(x, [0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053], atol=1e-4)
    x, value = maximise(peaks, Domain.cube(2), rng(seed))
    np.testing.assert_allclose(x, [0.8, 0.3], atol=1e-4)


def test_maximum_on_the_border_and_in_twelve_dimensions() -> None:
    centre = np.r_[-0.5, 1.5, rng(3).random(10)]
    x, value = maximise(quadratic(centre), Domain.cube(12), rng())
    np.testing.assert_allclose(x, np.clip(centre, 0, 1), atol=1e-6)
    assert value == quadratic(centre)(x[None])[0][0]


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1e9, 0.0), (1.0, 1e6)])
def test_values_of_any_scale(scale: float, shift: float) -> None:
    """Expected improvement late in a run is of the order 1e-12: stopping rules must be relative to the spread."""

    def rescaled(X: np.ndarray) -> Pair:
        a, G = hartmann6(X)
        return scale * a + shift, scale * G

    x, _ = maximise(rescaled, Domain.cube(6), rng())
    np.testing.assert_allclose(x, maximise(hartmann6, Domain.cube(6), rng())[0], atol=1e-3)


def test_equal_generators_equal_results_and_others_differ() -> None:
    one, other = (maximise(peaks, Domain.cube(2), rng(7), starts=1, iterations=1) for _ in range(2))
    np.testing.assert_array_equal(one[0], other[0])
    assert (maximise(peaks, Domain.cube(2), rng(8), starts=1, iterations=1)[0] != one[0]).any()


def test_a_generator_restored_from_its_state_gives_the_same() -> None:
    """Policies save the state of their generator, and not how many children it has had."""
    one, other = rng(1), rng(2)
    maximise(peaks, Domain.cube(2), one)
    other.bit_generator.state = one.bit_generator.state
    expected = maximise(peaks, Domain.cube(2), one, starts=1, iterations=1)[0]
    np.testing.assert_array_equal(maximise(peaks, Domain.cube(2), other, starts=1, iterations=1)[0], expected)


def test_never_worse_than_a_candidate_or_an_extra_point() -> None:
    """A needle too thin for any candidate is found where it is pointed at."""
    needle = np.array([0.123, 0.456, 0.789])

    def thin(X: np.ndarray) -> Pair:
        difference = X - needle
        a = np.exp(-0.5 * (difference**2).sum(axis=1) / 1e-6)
        return a + 1e-3 * X[:, 0], np.column_stack([np.full(len(X), 1e-3), np.zeros((len(X), 2))]) - a[
            :, None
        ] * difference / 1e-6

    assert maximise(thin, Domain.cube(3), rng())[1] == pytest.approx(1e-3)
    x, value = maximise(thin, Domain.cube(3), rng(), extra=needle[None] + 1e-4)
    np.testing.assert_allclose(x, needle, atol=1e-5)
    assert value >= 1.0


def test_a_flat_function_gives_a_point_of_the_cube() -> None:
    x, value = maximise(lambda X: (np.full(len(X), 2.0), np.zeros_like(X)), Domain.cube(4), rng())
    assert value == 2.0
    assert ((x >= 0) & (x <= 1)).all()


def test_one_call_a_step_whatever_the_number_of_starts() -> None:
    calls: list[int] = []

    def counted(X: np.ndarray) -> Pair:
        calls.append(len(X))
        return hartmann6(X)

    maximise(counted, Domain.cube(6), rng(), starts=16, iterations=20, values=lambda X: hartmann6(X)[0])
    assert set(calls) == {16, 1}
    assert len(calls) < 100


def brute(domain: Domain, f: Callable[[np.ndarray], Pair]) -> float:
    """The maximum over all levels, real coordinates on a fine grid."""
    axes = [np.linspace(0, 1, d.levels or 401) for d in domain]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    for j, d in enumerate(domain):
        if d.levels is not None:
            points[:, j] = d.unit(d.low + np.round(points[:, j] * (d.levels - 1)))
    return float(f(points)[0].max())


MIXED = Domain(
    (Dimension(1, 9, integer=True), Dimension(1e-4, 1.0, log=True), Dimension(1, 64, integer=True, log=True))
)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_boxes(seed: int) -> None:
    """A tilted valley, so that integers and reals have to be moved in turns."""
    R = rng(seed)
    centre, M = R.random(3), np.eye(3) + 0.8 * R.standard_normal((3, 3))
    H = M @ M.T

    def tilted(X: np.ndarray) -> Pair:
        D = X - centre
        return -np.einsum("ij,jk,ik->i", D, H, D), -2 * D @ H

    x, value = maximise(tilted, MIXED, rng(seed), candidates=32, starts=4)
    np.testing.assert_array_equal(MIXED.snap(x[None])[0], x)
    assert value >= brute(MIXED, tilted) - 1e-9


def test_all_integers() -> None:
    domain = Domain((Dimension(0, 30, integer=True),) * 3)
    centre = domain.unit([[7, 29, 0]])[0]
    x, value = maximise(quadratic(centre), domain, rng(), candidates=4, starts=1)
    np.testing.assert_array_equal(domain.values(x[None])[0], [7, 29, 0])
    assert value == pytest.approx(0.0, abs=1e-30)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: maximise(peaks, Domain.cube(2), rng(), starts=0), "starts: expected at least 1, got 0"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), candidates=0), "candidates: expected at least 1"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), extra=np.zeros((1, 3))), r"extra: expected points .*\(k, 2\)"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), extra=np.full((1, 2), 2.0)), "extra: expected points"),
        (
            lambda: maximise(lambda X: (X[:, 0] * np.nan, X), Domain.cube(2), rng()),
            "expected finite values, got nan at",
        ),
        (lambda: maximise(lambda X: (X[:, :1], X), Domain.cube(2), rng()), r"expected values of shape \(1024,\)"),
        (lambda: maximise(lambda X: (X[:, 0], X[0]), Domain.cube(2), rng()), "expected finite gradients of shape"),
        (lambda: finite_values(np.full(2, np.inf), np.zeros((2, 1))), "expected finite values, got inf"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
