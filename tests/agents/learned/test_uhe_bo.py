"""UHE-BO, and EXP3 that chooses for it."""

from __future__ import annotations

import copy
from math import e, log, sqrt
from typing import Any

import numpy as np
import pytest

import agents
from agents import Agent, Feedback, Pending
from agents.learned.uhe_bo import UHEBO, Exp3, exploration_rate
from tests.agents.learned.play import FEW, LINE, make_problem, play, wave
from tests.reference.learned import uhe_bo


def scattered(dim: int) -> np.ndarray:
    """Arms at random that span the unit cube."""
    return np.vstack([np.zeros(dim), np.ones(dim), np.random.default_rng(dim).random((58, dim))])


# No lattice: there, which of several equally near points is nearest would be up to rounding.
@pytest.mark.parametrize("arms", [scattered(1), scattered(2)], ids=["line", "square"])
@pytest.mark.parametrize("seed", range(3))
def test_plays_the_arms_of_the_algorithm_written_out(arms: np.ndarray, seed: int) -> None:
    shares: list[float] = []

    class Watched(UHEBO):
        def _explores_next(self) -> bool:
            explores = super()._explores_next()
            if self._t % 2 == 0:
                shares.append(self._exp3.probabilities(self._gamma(self._t + 1))[0])
            return explores

    _, ours = play(Watched(n_initial=5, fits=2), make_problem(arms), 25, seed=seed)
    noise = np.random.default_rng(1_000 + seed)
    expected, probabilities = uhe_bo(
        arms,
        lambda arm: float(wave(arms[[arm]])[0] + 0.1 * noise.standard_normal()),
        horizon=25,
        n_initial=5,
        fits=2,
        rng=np.random.default_rng(seed),
    )
    assert ours.tolist() == expected
    np.testing.assert_allclose(shares[: len(probabilities)], probabilities, rtol=1e-12)
    assert len(set(np.round(probabilities, 6))) > 5


def test_pairs_begin_with_a_random_point_as_often_as_exp3_says() -> None:
    """Over many first pairs, whose probability is 1/2 each way."""
    first = 0
    for seed in range(60):
        agent = UHEBO(n_initial=2, fits=1, **FEW)  # type: ignore[arg-type]
        play(agent, make_problem(LINE), 2, seed=seed)
        first += agent.explores
    assert abs(first - 30) < 4 * np.sqrt(15)


def test_ra_bo_plays_a_random_point_every_second_time() -> None:
    agent, seen = UHEBO(sampling="alternate", n_initial=4, fits=1), []

    def watch(t: int, playing: Agent) -> None:
        seen.append(agent.explores)

    play(agent, make_problem(LINE), 14, after=watch)
    assert seen[3:] == [True, False] * 5 + [True]


def test_random_exp3_estimates_from_the_data_and_uhe_bo_from_pseudo_data() -> None:
    plain, _ = play(agents.make("Random+EXP3", n_initial=20), make_problem(LINE), 21, seed=4)
    unbiased, _ = play(agents.make("UHE-BO", n_initial=20), make_problem(LINE), 21, seed=4)
    lengthscales = [agent.hyperparameters[0].lengthscales[0] for agent in (plain, unbiased)]  # type: ignore[attr-defined]
    # The nearest neighbour's feedback is a step function of the point: rougher than what it stands for.
    assert lengthscales[1] < 0.8 * lengthscales[0]
    for agent in (plain, unbiased):
        assert len(agent.posterior.X) <= 21  # type: ignore[attr-defined]


@pytest.mark.parametrize("id", ["UHE-BO", "Random+EXP3"])
def test_noise_that_is_known_is_not_estimated(id: str) -> None:
    agent, _ = play(agents.make(id, noise=0.1, n_initial=20), make_problem(LINE), 22, seed=4)
    assert agent.hyperparameters[0].noise == pytest.approx(0.01)  # type: ignore[attr-defined]


def test_the_noise_of_the_problem_is_taken_where_asked() -> None:
    agent, _ = play(agents.make("UHE-BO", noise="stated", n_initial=8), make_problem(LINE, noise_std=0.2), 10)
    assert agent.hyperparameters[0].noise == pytest.approx(0.04)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"noise: 'stated' needs a problem that states its noise_std, .* states None"):
        agent.reset(make_problem(LINE), np.random.default_rng(0))


def test_noise_can_be_estimated_from_the_data_alone() -> None:
    kernel: list[tuple[float, ...]] = []
    for noise in ("pseudo", "data"):
        agent, _ = play(agents.make("UHE-BO", noise=noise, n_initial=40), make_problem(LINE), 40, noise_std=0.1, seed=4)
        assert isinstance(agent, UHEBO)
        agent.rng = np.random.default_rng(1)
        agent.estimate()
        known = agent.hyperparameters[0]
        kernel.append((known.variance, *known.lengthscales))
        if noise == "data":
            assert 0.003 < known.noise < 0.03
    assert kernel[0] == pytest.approx(kernel[1], rel=1e-2)  # the same pseudo-observations


@pytest.mark.parametrize("lost", ["first", "second", "both"])
def test_a_pair_with_failures_is_rewarded_for_what_arrived(lost: str) -> None:
    agent = UHEBO(n_initial=4, fits=1)
    problem = make_problem(LINE)
    play(agent, problem, 4, mean=lambda X: X[:, 0], noise_std=0.0)
    best = float(agent.y.max())
    before = copy.deepcopy(agent._exp3)
    for k, failed in enumerate([lost in ("first", "both"), lost in ("second", "both")]):
        action = agent.select(1, Pending.empty(problem))
        nan = np.full(1, np.nan)
        reward = nan if failed else np.array([best])
        agent.observe(Feedback(np.array([4 + k]), action, reward, np.ones(1), np.array([failed])))
    gamma = agent._gamma(2)
    if lost != "both":
        before.update(gamma, 1.0)
    np.testing.assert_array_equal(agent._exp3.probabilities(0.3), before.probabilities(0.3))
    assert len(agent.y) == 4 + (lost != "both")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": "biased"}, "loss: expected 'unbiased' or 'plain'"),
        ({"sampling": "always"}, "sampling: expected 'exp3' or 'alternate'"),
        ({"pseudo": 0.5}, "pseudo: expected a number from 1 to 1000, got 0.5"),
        ({"noise": 0.0}, "noise: expected 'pseudo', 'data', 'stated' or a finite standard deviation > 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        UHEBO(**arguments)


# ---- eXP3 against a trace computed by hand ----


class _Draws(np.random.Generator):
    """A generator that gives the stated uniform numbers."""

    def __init__(self, *values: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._values = iter(values)

    def random(self) -> float:  # type: ignore[override]
        return next(self._values)


def test_a_trace_computed_by_hand() -> None:
    """Three pulls at a rate of 1/2: the first arm pays 1, then the second pays 1/2, then the first pays nothing.

    After the first pull `w = (exp(0.5 * 1 / (2 * 0.5)), 1) = (1.648721, 1)`, so that the first arm's share is 0.622459
    and `p = 0.5 * 0.622459 + 0.25 = 0.561230`. The second arm had probability 0.438770, so that its weight becomes
    `exp(0.5 * 0.5 / (2 * 0.438770)) = exp(0.284887) = 1.329612`, the first arm's share 1.648721 / 2.978333 = 0.553572
    and `p = 0.526786`. No reward, no change.
    """
    exp3, draws = Exp3(2), _Draws(0.49, 0.57, 0.52)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.5, 0.5])
    assert exp3.draw(0.5, draws) == 0
    exp3.update(0.5, 1.0)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.561230, 0.438770], atol=5e-7)
    assert exp3.draw(0.5, draws) == 1
    exp3.update(0.5, 0.5)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.526786, 0.473214], atol=5e-7)
    assert exp3.draw(0.5, draws) == 0
    exp3.update(0.5, 0.0)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.526786, 0.473214], atol=5e-7)


def test_the_rate_of_uhe_bo() -> None:
    """`sqrt(4 log 2 / ((e - 1) t))`, at most 1: its first values by hand are 1, 0.898215 and 0.635134."""
    rates = [exploration_rate(t / 2) for t in (1, 2, 4)]
    np.testing.assert_allclose(rates, [1.0, 0.898215, 0.635134], atol=5e-7)
    assert exploration_rate(50) == pytest.approx(sqrt(4 * log(2) / ((e - 1) * 100)))


def test_probabilities_survive_huge_weights() -> None:
    exp3, draws = Exp3(2), np.random.default_rng(0)
    for _ in range(5_000):
        exp3.update(0.5, float(exp3.draw(0.5, draws) == 0))
    p = exp3.probabilities(0.1)
    np.testing.assert_allclose(p, [0.95, 0.05], atol=1e-9)


def test_the_better_of_three_arms_is_found_and_draws_follow_the_probabilities() -> None:
    exp3, rng = Exp3(3), np.random.default_rng(1)
    for pull in range(1, 2_001):
        arm = exp3.draw(exploration_rate(pull, 3), rng)
        exp3.update(exploration_rate(pull, 3), float(rng.random() < (0.3, 0.3, 0.7)[arm]))
    assert exp3.probabilities(0.1)[2] > 0.9
    gamma = 0.6
    p = exp3.probabilities(gamma)
    counts = np.bincount([exp3.draw(gamma, rng) for _ in range(4_000)], minlength=3)
    assert (np.abs(counts - 4_000 * p) < 4 * np.sqrt(4_000 * p * (1 - p))).all()


def test_a_reward_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\], got 1.5"):
        Exp3(2).update(0.5, 1.5)
