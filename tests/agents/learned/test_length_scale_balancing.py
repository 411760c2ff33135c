"""LB-GP-UCB against its algorithm written out, and the parts of it."""

from __future__ import annotations

from math import e, exp, inf, sqrt
from typing import Any

import numpy as np
import pytest

import agents
from agents import Agent, Feedback, Pending
from agents.learned.length_scale_balancing import LBGPUCB, suspected_regret
from gpbandit_envs.gp.hyperparameters import Hyperparameters, HyperPrior, LogPosterior, isotropic_estimate
from gpbandit_envs.gp.hyperparameters.map import standardised
from tests.agents.learned.play import GRID, LINE, make_problem, play, wave
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
