"""UHE-BO is its Algorithm 1, survives being stopped anywhere, and takes failures in its stride."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import agents
from agents import Agent, Feedback, Pending
from agents.learned.uhe_bo import UHEBO
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
