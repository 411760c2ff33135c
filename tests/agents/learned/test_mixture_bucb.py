"""The mixture over hyperparameters: its moments, its gradient, and its batches on arms and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Experiment, Feedback, Pending
from agents.learned.base import Mixture
from agents.learned.gp_bucb import MAPBUCB, MixtureBUCB
from gpbandit_envs.gp.hyperparameters import HyperPrior
from gpbandit_envs.gp.kernels import Matern
from gpbandit_envs.gp.regression import GPRegression
from tests.agents.learned.play import GRID, make_problem, wave

SETTINGS: dict[str, Any] = {"n_initial": 4, "draws": 4, "burn_in": 5}
NAME = "agents.learned.gp_bucb:MixtureBUCB"


def mixture(spread: bool) -> Mixture:
    rng = np.random.default_rng(0)
    X, y = rng.random((8, 2)), rng.standard_normal(8)
    return Mixture([GPRegression(v * Matern(scale), X, y, 0.05) for v, scale in ((1.0, 0.3), (2.0, 1.0))], spread)


def test_its_variance_is_that_of_draws_from_the_parts() -> None:
    """The moments of a large sample: a part at random, then a normal draw of it."""
    Z, rng, both = np.random.default_rng(1).random((4, 2)), np.random.default_rng(2), mixture(True)
    moments = np.array([part.at(Z) for part in both.parts])
    which = rng.integers(2, size=100_000)
    sample = moments[which, 0] + np.sqrt(moments[which, 1]) * rng.standard_normal((100_000, 4))
    mean, variance = both.at(Z)
    np.testing.assert_allclose(mean, sample.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(variance, sample.var(axis=0), rtol=0.03)
    assert (both.mean_and_bound(Z)[1] >= variance).all()
    assert (variance > mixture(False).at(Z)[1]).all()


def test_its_gradient_is_that_of_differences() -> None:
    Z, both, h = np.random.default_rng(3).random((3, 2)), mixture(True), 1e-6
    mean, sd, mean_gradient, sd_gradient = both.at_with_gradient(Z)
    np.testing.assert_allclose(np.array([mean, sd**2]), both.at(Z))
    for j, step in enumerate(h * np.eye(2)):
        up, down = both.at_with_gradient(Z + step), both.at_with_gradient(Z - step)
        np.testing.assert_allclose(mean_gradient[:, j], (up[0] - down[0]) / (2 * h), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(sd_gradient[:, j], (up[1] - down[1]) / (2 * h), rtol=1e-5, atol=1e-7)


def told(agent: MAPBUCB, arms: Sequence[int]) -> None:
    agent.reset(make_problem(GRID), np.random.default_rng(0))
    n = len(arms)
    agent.observe(Feedback(np.arange(n), np.array(arms, np.int64), wave(GRID[[*arms]]), np.ones(n), np.zeros(n, bool)))


@pytest.mark.parametrize("agent", [MAPBUCB(n_initial=2), MixtureBUCB(**SETTINGS | {"n_initial": 2})])
def test_open_points_count_before_there_are_outcomes(agent: MAPBUCB) -> None:
    """A first plate of ten: where nothing is known all bounds are equal, and what is open lowers them."""
    agent.reset(make_problem(GRID), np.random.default_rng(0))
    plate = agent.select(10, Pending.empty(agent.problem))
    assert len(set(plate.tolist())) == 10


def test_open_points_keep_the_mean_and_lower_the_deviation() -> None:
    agent = MixtureBUCB(**SETTINGS)
    told(agent, range(0, 40, 5))
    assert len(agent.hyperparameters) == 4
    assert [prior.lengthscale.location for prior in agent.priors] == pytest.approx(  # type: ignore[attr-defined]
        np.log([0.5, 0.4 * np.sqrt(GRID.shape[1])])
    )
    open_ = agent.select(3, Pending.empty(agent.problem))
    assert len(set(open_.tolist())) == 3
    before, after = (agent._hallucinated(actions).at(agent.space.coordinates(open_)) for actions in (open_[:0], open_))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-6, atol=1e-8)
    assert (after[1] < before[1]).all()
    one = MixtureBUCB(**SETTINGS, prior=HyperPrior.informative(1))
    told(one, range(0, 40, 5))
    assert (len(one.priors), len(one.hyperparameters)) == (1, 4)


@pytest.mark.parametrize("outcomes", [0, 1, 3])
def test_open_points_count_before_the_first_draws_too(outcomes: int) -> None:
    """There the hyperparameters are a guess, as those of its base: while the design is open, both choose alike."""
    mixed, mode = MixtureBUCB(**SETTINGS), MAPBUCB(n_initial=4, width=2.0)
    plates = []
    for agent in (mixed, mode):
        told(agent, range(outcomes))
        plates.append(agent.select(8, Pending.empty(agent.problem)).tolist())
    assert plates[0] == plates[1]
    assert len(set(plates[0][4 - outcomes :])) > 1


def test_an_experiment_plays_it_on_ranges_and_after_a_file(tmp_path: Path) -> None:
    lab = Experiment({"x": (0, 1), "level": ["a", "b"]}, (NAME, SETTINGS))
    for _ in range(2):
        for point in lab.ask(4):
            lab.tell(point, -((point["x"] - 0.3) ** 2) + (point["level"] == "b"))
    assert lab.recommend()["level"] == "b"
    again = Experiment.load(lab.save(tmp_path / "lab.json"), agent=NAME)
    assert again.ask(4) == lab.ask(4)
    with pytest.raises(ValueError, match="plays for a single outcome without limit; 'MAP-BUCB', the default"):
        Experiment({"x": (0, 1)}, (NAME, SETTINGS), outcome={"a": "max", "b": "min"})
    with pytest.raises(ValueError, match="draws: expected"):
        MixtureBUCB(draws=1)
