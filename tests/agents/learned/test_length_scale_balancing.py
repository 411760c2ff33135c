"""LB-GP-UCB against its algorithm written out, and the parts of it."""

from __future__ import annotations

import copy
from dataclasses import replace
from math import e, exp, inf, sqrt
from typing import Any

import numpy as np
import pytest

import agents
from agents import Agent, Feedback, Pending
from agents.core.acquisition import PosteriorScore, UpperConfidenceBound
from agents.learned.base import LearnedAgent, Mixture
from agents.learned.gp_ucb import MCMCUCB
from agents.learned.length_scale_balancing import LBGPUCB, suspected_regret
from agents.learned.shrinking import AGPUCB, WangDeFreitas
from agents.learned.uhe_bo import Portfolio
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.hyperparameters import Hyperparameters, HyperPrior, LogPosterior, isotropic_estimate
from gpbandit_envs.gp.hyperparameters.map import standardised
from gpbandit_envs.gp.regression import GPRegression
from tests.agents.learned.play import FEW, GRID, LINE, make_problem, play, wave
from tests.agents.play import begun
from tests.reference.learned import lb_gp_ucb


def needle(X: np.ndarray) -> np.ndarray:
    """Smooth on the right, a narrow peak on the left: what a lengthscale of the right misses."""
    return np.exp(-0.5 * ((X[:, 0] - 0.3) / 0.03) ** 2) + 0.4 * X[:, 0]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("form", ["paper", "code"])
@pytest.mark.parametrize(("arms", "mean"), [(LINE, needle), (GRID, wave)], ids=["line", "grid"])
def test_plays_the_arms_of_the_algorithm_written_out(arms: np.ndarray, mean: Any, form: str, seed: int) -> None:
    d, T, xi = arms.shape[1], 60, 0.02
    chosen: list[int] = []
    left: list[list[int]] = []

    def watch(t: int, agent: Agent) -> None:
        assert isinstance(agent, LBGPUCB)
        if t >= 5:
            left.append(sorted(agent.active))
        if 4 <= t < T - 1:
            chosen.append(agent.candidate)

    settings = {"n_initial": 5, "n_lengths": 3, "growth": 0.9, "delta": 0.1, "noise": xi, "form": form}
    _, ours = play(
        agents.make("LB-GP-UCB", **settings), make_problem(arms), T, mean=mean, noise_std=xi, seed=seed, after=watch
    )
    noise = np.random.default_rng(1_000 + seed)
    expected, candidates, active = lb_gp_ucb(
        arms,
        lambda arm: float(mean(arms[[arm]])[0] + xi * noise.standard_normal()),
        T,
        5,
        xi**2,
        lambda t: max(exp(3 / (d + 5 if form == "code" else d)), t**0.9),
        0.1,
        np.random.default_rng(seed),
        code=form == "code",
    )
    assert ours.tolist() == expected
    assert chosen == candidates
    assert left == [sorted(each) for each in active]
    assert len(set(chosen)) > 2


def test_candidates_join_as_time_goes_by_and_are_eliminated() -> None:
    """In one dimension the bound falls below a new candidate at t = e^(i / a); some seed sheds a long lengthscale."""
    shed, joined = [], []
    for seed in range(4):
        agent = agents.make("LB-GP-UCB", n_initial=5, n_lengths=2, growth=0.9, noise=0.01)
        play(agent, make_problem(LINE), 80, mean=needle, noise_std=0.01, seed=seed)
        assert isinstance(agent, LBGPUCB)
        shed += [i for i in range(agent.active[-1]) if i not in agent.active]
        joined.append(max(agent.active))
    assert joined == [3] * 4  # 3 < 0.9 log(76) < 4
    assert shed


def test_every_candidate_plays_once_before_any_plays_twice() -> None:
    seen: list[int] = []

    def watch(_: int, agent: Agent) -> None:
        assert isinstance(agent, LBGPUCB)
        seen.append(agent.candidate)

    play(agents.make("LB-GP-UCB", n_initial=4, n_lengths=4, noise=0.1), make_problem(GRID), 12, after=watch)
    assert seen[3:7] == [0, 1, 2, 3]
    assert seen[7] == 0


def test_a_shorter_lengthscale_is_suspected_of_more_regret() -> None:
    for nu in (1.5, 2.5, inf):
        for dim in (1, 3):
            values = [[suspected_regret(n, i, dim, nu) for n in (1, 2, 10, 100)] for i in range(4)]
            assert all(row[0] == 0 for row in values)
            assert all(np.diff(row).min() > 0 for row in values)
            np.testing.assert_allclose(np.array(values[2])[1:] / np.array(values[1])[1:], e)
    assert suspected_regret(10, 0, 1, 2.5, norm=3.0) > suspected_regret(10, 0, 1, 2.5)
    # Proposition 2.2 for d = 1 and nu = 5/2: n^(2/7) log(n)^(5/6).
    gain = 10 ** (2 / 7) * np.log(10) ** (5 / 6)
    assert suspected_regret(10, 0, 1, 2.5) == pytest.approx(sqrt(10) * (sqrt(gain) + gain))


def test_one_width_eliminates_more_than_two() -> None:
    """Of the runs with equal data, those of the authors' test keep a subset."""
    left = {}
    for form in ("paper", "code"):
        agent = begun(make_problem(LINE), "LB-GP-UCB", n_initial=3, n_lengths=3, noise=0.1, form=form)
        agent.hyperparameters = [Hyperparameters(1.0, 1e-6, (0.1,))]
        agent._t, agent._n = 30, [10, 10, 10]
        agent._rewards, agent._widths = [10.0, 2.0, -4.0], [5.0, 5.0, 5.0]  # means 1, 0.2, -0.4; width 0.5
        agent._eliminate()
        left[form] = agent.active
    assert left == {"paper": [0, 1], "code": [0]}


def test_failed_evaluations_count_for_no_candidate() -> None:
    problem = make_problem(LINE)
    agent = begun(problem, "LB-GP-UCB", n_initial=3, noise=0.1)
    for t in range(8):
        arm = agent.select(1, Pending.empty(problem))
        failed = np.array([t in (4, 5)])
        rewards = np.where(failed, np.nan, wave(LINE[arm]))
        agent.observe(Feedback(np.array([t]), arm, rewards, np.ones(1), failed))
    assert sum(agent._n) == 8 - 3 - 2


def test_the_noise_is_stated_given_or_estimated() -> None:
    stated = make_problem(LINE, noise_std=0.25)
    for noise, expected in (("stated", 0.25), (0.5, 0.5)):
        agent, _ = play(agents.make("LB-GP-UCB", noise=noise), stated, 8)
        assert agent.diagnostics()["noise"] == pytest.approx(expected**2)
    agent, _ = play(agents.make("LB-GP-UCB"), stated, 40, noise_std=0.1)
    assert 0.002 < agent.diagnostics()["noise"] < 0.05
    with pytest.raises(ValueError, match="noise: 'stated' needs a problem that states its noise_std"):
        play(agents.make("LB-GP-UCB", noise="stated"), make_problem(LINE), 1)


@pytest.mark.parametrize("known", [None, 0.04])
def test_the_common_lengthscale_is_the_most_probable_one(known: float | None) -> None:
    """No pair of a grid around it is more probable, in data drawn with the true one."""
    rng = np.random.default_rng(2)
    X = rng.random((40, 2))
    K = Hyperparameters(4.0, 0.04, (0.3, 0.3)).kernel()(X, X)
    y = 7 + np.linalg.cholesky(K + 0.04 * np.eye(40)) @ rng.standard_normal(40)
    found = isotropic_estimate(X, y, noise=known)
    assert found.lengthscales[0] == found.lengthscales[1]
    assert 0.15 < found.lengthscales[0] < 0.6
    assert found.variance == pytest.approx(np.var(y))
    data, _, scale = standardised(X, y, None)
    target = LogPosterior(data, HyperPrior())
    best = target(found.rescaled(1 / scale).vector())[0]
    for noise in np.linspace(-1, 1, 9) if known is None else [0.0]:
        for length in np.linspace(-1, 1, 9):
            near = found.rescaled(1 / scale).vector() + np.array([0.0, noise, length, length])
            assert target(np.clip(near, target.lower, target.upper))[0] <= best + 1e-6
    if known is not None:
        assert found.noise == pytest.approx(known)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"n_lengths": 0}, "n_lengths: expected"),
        ({"form": "theirs"}, "form: expected 'paper' or 'code'"),
        ({"growth": 1.0}, r"growth: expected a number in \(0, 1\)"),
        ({"norm": 0.0}, "norm: expected a finite number > 0"),
        ({"delta": 1.0}, "delta: expected a probability"),
        ({"noise": "pseudo"}, "noise: expected 'data', 'stated' or a finite standard deviation > 0"),
        ({"noise": -1.0}, "noise: expected 'data', 'stated' or a finite standard deviation > 0"),
    ],
)
@pytest.mark.wrong_arguments
def test_wrong_arguments(kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        agents.make("LB-GP-UCB", **kwargs)


# ---- the rivals of UHE-BO do what their papers say, and all of them what a policy that learns the kernel must ----


LEARNED = ["UHE-BO", "RA-BO", "Random+EXP3", "MAP-UCB", "MCMC-UCB", "A-GP-UCB", "LB-GP-UCB"]
LEARNED += ["Wang-deFreitas", "Portfolio"]


def make(id: str, **settings: Any) -> LearnedAgent:
    quick = {"burn_in": 5, "samples": 3} if id == "MCMC-UCB" else {}
    agent: Any = agents.make(id, **{"n_initial": 4, "fits": 1, **FEW, **quick, **settings})
    return agent


@pytest.mark.parametrize("id", LEARNED)
def test_the_cards_kernel_and_noise_are_not_looked_at(id: str) -> None:
    blank = make_problem(GRID)
    told = replace(blank, kernel=5.0 * SE(0.01), noise_std=3.0, norm_bound=9.0)
    np.testing.assert_array_equal(play(make(id), blank, 8)[1], play(make(id), told, 8)[1])
    assert not make(id).capabilities.needs


@pytest.mark.parametrize("id", LEARNED)
def test_the_unit_of_the_reward_does_not_matter(id: str) -> None:
    """A power of two, so that not even rounding differs."""
    scale = 2.0**20
    plain, actions = play(make(id), make_problem(GRID), 9, noise_std=0.125)
    scaled, same = play(make(id), make_problem(GRID), 9, noise_std=0.125 * scale, mean=lambda X: scale * wave(X))
    np.testing.assert_array_equal(actions, same)
    for ours, theirs in zip(plain.predict(GRID) or (), scaled.predict(GRID) or (), strict=True):
        np.testing.assert_allclose(scale * ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("id", LEARNED)
def test_the_unit_of_the_features_of_arms_does_not_matter(id: str) -> None:
    power = make_problem(GRID * np.array([1024.0, 0.25]) - 8.0)
    noise = np.random.default_rng(5).standard_normal(len(GRID))

    def actions(problem: Any) -> list[int]:
        agent, played = make(id), []
        agent.reset(problem, np.random.default_rng(0))
        for t in range(9):
            arm = agent.select(1, Pending.empty(problem))
            played.append(int(arm[0]))
            agent.observe(Feedback.of([t], arm, wave(GRID[arm]) + 0.1 * noise[arm]))
        return played

    assert actions(make_problem(GRID)) == actions(power)


@pytest.mark.parametrize("id", LEARNED)
@pytest.mark.parametrize("problem", [make_problem(LINE), make_problem(dim=2)], ids=["arms", "box"])
def test_equal_rewards_are_survived(id: str, problem: Any) -> None:
    agent, actions = play(make(id), problem, 8, mean=lambda X: np.full(len(X), 1e6), noise_std=0.0)
    assert len(actions) == 8
    mean, band = agent.predict(problem.arms if problem.arms is not None else actions) or (np.nan, np.nan)
    np.testing.assert_allclose(mean, 1e6)
    assert np.isfinite(band).all()


@pytest.mark.parametrize("id", LEARNED)
@pytest.mark.parametrize(
    ("mean", "lost"),
    [
        (lambda X: 1e49 * np.sin(9 * X[:, 0]), 0),
        (lambda X: 1e-300 * np.sin(9 * X[:, 0]), 0),
        (lambda X: np.where(X[:, 0] > 0.5, 1.0, 0.0), 0),
        (wave, 3),
        (wave, 1),
    ],
    ids=["huge", "tiny", "step", "two of three fail", "all fail"],
)
def test_hard_feedback_is_survived(id: str, mean: Any, lost: int) -> None:
    agent, problem = make(id), make_problem(dim=2)
    agent.reset(problem, np.random.default_rng(0))
    for t in range(12):
        action = agent.select(1, Pending.empty(problem))
        failed = np.array([lost > 0 and (lost == 1 or t % lost > 0)])
        agent.observe(Feedback(np.array([t]), action, np.where(failed, np.nan, mean(action)), np.ones(1), failed))
        assert np.isfinite(agent.recommend()).all()
        assert np.isfinite(agent.predict(np.array([[0.5, 0.5]]))).all()
        assert np.isfinite(list(agent.diagnostics().values())).all()
    assert len(agent.y) == (0 if lost == 1 else 4 if lost else 12)


@pytest.mark.parametrize("id", [*LEARNED, "Random"])
def test_integer_coordinates_are_played_at_their_levels(id: str) -> None:
    domain = Domain((Dimension(), Dimension(0, 3, integer=True)))
    problem = make_problem(dim=2, notes={"domain": domain.to_spec()})
    agent = agents.make(id) if id == "Random" else make(id)
    _, actions = play(agent, problem, 8)
    np.testing.assert_array_equal(domain.snap(actions), actions)
    assert domain.snap(np.atleast_2d(agent.recommend())).tolist() == np.atleast_2d(agent.recommend()).tolist()


@pytest.mark.parametrize("id", LEARNED)
def test_finds_a_peak_that_random_points_miss(id: str) -> None:
    """A smooth bump on a square: all the policies end closer to its top than the 20 points of random search do.

    The portfolio's own points are as many random ones as others, so that it has to be better, but not by half.
    """
    budget = {"fits": 2, "candidates": 256, "starts": 4} | ({"burn_in": 30} if id == "MCMC-UCB" else {})

    def bump(X: np.ndarray) -> np.ndarray:
        return np.exp(-8 * np.square(X - np.array([0.7, 0.3])).sum(axis=1))

    gaps = {"ours": 0.0, "random": 0.0}
    for seed in range(2):
        for name, agent in (("ours", make(id, **budget)), ("random", agents.make("Random"))):
            _, actions = play(agent, make_problem(dim=2), 20, mean=bump, noise_std=0.01, seed=seed)
            gaps[name] += 1 - bump(actions).max()
    assert gaps["ours"] < (1.0 if id == "Portfolio" else 0.5) * gaps["random"]


def test_map_ucb_evaluates_the_maximiser_of_its_bound() -> None:
    agent, _ = play(make("MAP-UCB", fits=2), make_problem(GRID), 12)
    assert isinstance(agent, LearnedAgent)
    known = agent.hyperparameters[0]
    dense = GPRegression(known.kernel(), GRID[agent.actions], agent.y, known.noise, float(agent.y.mean()))
    mean, variance = dense.at(GRID)
    arm = agent.select(1, Pending.empty(agent.problem))
    assert arm[0] == np.argmax(mean + 1.96 * np.sqrt(variance))
    assert agent.recommend() == np.argmax(mean)


def test_mcmc_averages_the_bounds_of_its_samples() -> None:
    agent, _ = play(MCMCUCB(n_initial=6, burn_in=20, samples=4), make_problem(GRID), 8)
    assert isinstance(agent, MCMCUCB)
    assert len(set(agent.hyperparameters)) > 1
    bounds = []
    for known in agent.hyperparameters:
        mean, variance = GPRegression(known.kernel(), agent.X, agent.y, known.noise, float(agent.y.mean())).at(GRID)
        bounds.append(mean + 1.96 * np.sqrt(variance))
    assert agent.select(1, Pending.empty(agent.problem))[0] == np.argmax(np.mean(bounds, axis=0))


def test_the_gradient_of_an_average_is_its_finite_difference() -> None:
    rng = np.random.default_rng(0)
    X, y, Z = rng.random((9, 2)), rng.standard_normal(9), rng.random((7, 2))
    mixture = Mixture([GPRegression(Matern(scale), X, y, 0.1) for scale in (0.2, 0.5, 1.0)])
    acquisition = PosteriorScore(UpperConfidenceBound(1.96), mixture).with_gradient
    gradient = acquisition(Z)[1]
    for j in range(2):
        step = 1e-6 * np.eye(2)[j]
        slopes = (acquisition(Z + step)[0] - acquisition(Z - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, j], slopes, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(mixture.at(Z)[1]), mixture.at_with_gradient(Z)[1], rtol=1e-12)


def test_a_gp_ucb_shrinks_as_far_as_its_reference_allows_and_never_back() -> None:
    agent, divisors = AGPUCB(n_initial=6, fits=1), []
    shrinks = 0

    def watch(t: int, playing: Any) -> None:
        nonlocal shrinks
        divisors.append(agent.g)
        if t >= 6 and agent.g > divisors[-2]:
            shrinks += 1
            information = agent._posterior_of(agent.g).information_gain
            first = agent._posterior_of(1.0, 6).information_gain
            assert information <= first * (len(agent.y) / 6) ** 0.8

    play(agent, make_problem(LINE), 30, noise_std=0.3, after=watch)
    assert (np.diff(divisors) >= 0).all()
    assert shrinks > 0
    assert agent.hyperparameters[0].lengthscales[0] == pytest.approx(agent._map[0].lengthscales[0] / agent.g)


def test_wang_and_de_freitas_find_the_smallest_divisor_that_leaves_the_next_point_uncertain() -> None:
    agent, found = WangDeFreitas(n_initial=5, fits=1, kappa=0.3), []

    def watch(t: int, playing: Any) -> None:
        if t < 5:
            return
        found.append(agent.g)

        def sd(g: float) -> float:
            mean, variance = agent._posterior_of(g).at(LINE)
            return float(np.sqrt(variance[np.argmax(mean + 1.96 * np.sqrt(variance))]))

        least = 0.3 * np.sqrt(agent._map[0].variance)
        assert sd(agent.g) >= least or agent.g == 32
        assert agent.g == 1 or sd(agent.g / 2**0.25) < least

    play(agent, make_problem(LINE), 20, noise_std=0.01, after=watch)
    assert max(found) > 1


def test_wang_and_de_freitas_look_at_the_arms_that_are_offered_now() -> None:
    problem = make_problem(LINE)
    agent, parts = WangDeFreitas(n_initial=5, fits=1, kappa=0.3), np.array_split(np.arange(len(LINE)), 2)
    agent.reset(problem, np.random.default_rng(0))
    divisors = set()
    for t in range(14):
        offered = parts[t % 2]
        agent.offer(offered)
        if t >= 5:
            mean, variance = agent.posterior.at(LINE[offered])
            sd = float(np.sqrt(variance[np.argmax(mean + 1.96 * np.sqrt(variance))]))
            assert sd >= 0.3 * np.sqrt(agent._map[0].variance) or agent.g == 32
            divisors.add(agent.g)
        arm = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], arm, wave(LINE[arm])))
    assert len(divisors) > 1


def test_the_portfolio_rewards_with_the_posterior_mean() -> None:
    agent = Portfolio(n_initial=5, fits=1)
    play(agent, make_problem(LINE), 8)
    before, arm = copy.deepcopy(agent._exp3), agent.select(1, Pending.empty(agent.problem))
    agent.observe(Feedback.of([8], arm, wave(LINE[arm])))
    mean = float(agent.predict(LINE[arm])[0][0])
    low, high = agent.y[:5].min(), agent.y[:5].max()
    reward = np.clip((mean - low) / (high - low), 0, 1)
    gained = agent._exp3._log_weights - before._log_weights
    rate = np.sqrt(2 * np.log(2) / ((e - 1) * 4))
    expected = np.zeros(2)
    expected[before.arm] = rate * reward / (2 * before.probability)
    np.testing.assert_allclose(gained, expected, rtol=1e-9)


def test_random_search_draws_uniformly_and_recommends_the_best_average() -> None:
    agent, actions = play(agents.make("Random"), make_problem(LINE), 600)
    counts = np.bincount(actions, minlength=60)
    assert ((counts - 10) ** 2 / 10).sum() < 59 + 5 * np.sqrt(2 * 59)
    assert wave(LINE[np.array([agent.recommend()])])[0] > np.quantile(wave(LINE), 0.9)
    assert agent.predict(LINE) is None


def test_priors_have_a_json_form() -> None:
    spec = {"lengthscale": {"name": "log_normal", "location": -1.0, "scale": 0.3}, "noise_bounds": [1e-4, 1e-2]}
    held = agents.make("MAP-UCB", prior=spec, n_initial=4)
    play(held, make_problem(LINE), 10)
    assert isinstance(held, LearnedAgent)
    assert 1e-4 <= held.hyperparameters[0].noise / held.y.var() <= 1e-2 * (1 + 1e-9)
