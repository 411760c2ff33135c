"""GP-BUCB with learnt hyperparameters, one estimate or a mixture of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Experiment, Feedback, Pending
from agents.learned.base import Mixture
from agents.learned.gp_bucb import MAPBUCB, MixtureBUCB
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.gp.hyperparameters import HyperPrior, LogNormal
from gpbandit_envs.gp.kernels import Matern
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import InitialData
from tests.agents.learned.play import FEW, GRID, make_problem, wave
from tests.agents.play import begun
from tests.reference.learned import map_bucb

SIZE = 6


@pytest.mark.parametrize("fails", [frozenset(), frozenset({9, 10, 16})], ids=["all succeed", "some fail"])
def test_it_chooses_the_arms_of_the_textbook(fails: frozenset[int]) -> None:
    noise = np.random.default_rng(5).standard_normal(60)

    def feedback(t: int, arm: int) -> float | None:
        return None if t in fails else float(wave(GRID[[arm]])[0] + 0.1 * noise[t])

    expected = map_bucb(GRID, feedback, 4, SIZE, np.random.default_rng(3))
    problem, agent = make_problem(GRID), MAPBUCB(n_initial=SIZE)
    agent.reset(problem, np.random.default_rng(3))
    for batch, arms in enumerate(expected):
        picks = agent.select(SIZE, Pending.empty(problem))
        assert picks.tolist() == arms, batch
        tickets = np.arange(SIZE) + SIZE * batch
        values = [feedback(t, arm) for t, arm in zip(tickets.tolist(), arms, strict=True)]
        rewards = np.array([np.nan if value is None else value for value in values])
        agent.observe(Feedback(tickets, picks, rewards, np.ones(SIZE), np.isnan(rewards)))


def test_open_points_lower_the_deviation_and_leave_the_mean() -> None:
    problem, agent = make_problem(), MAPBUCB(n_initial=8, **FEW)  # type: ignore[arg-type]
    agent.reset(problem, np.random.default_rng(0))
    X = agent.select(8, Pending.empty(problem))
    agent.observe(Feedback.of(range(8), X, wave(X)))
    mean, half = agent.predict(X)
    posterior = agent._hallucinated(np.array([[0.5, 0.5], [0.2, 0.9]]))
    Z = np.random.default_rng(1).random((20, 2))
    np.testing.assert_allclose(posterior.at(Z)[0], agent.predict(Z)[0], atol=1e-6)
    assert (np.sqrt(posterior.at(Z)[1]) <= agent.predict(Z)[1] + 1e-9).all()
    assert posterior.at(np.array([[0.5, 0.5]]))[1] < 0.5 * agent.posterior.at(np.array([[0.5, 0.5]]))[1]
    np.testing.assert_array_equal(agent.predict(X), (mean, half))


@pytest.mark.parametrize("agent", [MAPBUCB(n_initial=4), MixtureBUCB(n_initial=4, draws=2, burn_in=5)])
def test_open_points_are_added_as_if_the_posterior_were_built_anew(agent: MAPBUCB) -> None:
    """After failures and told deviations, at points met before, added at once or one by one, and of other batches."""
    problem, arms = make_problem(GRID), np.array([3, 9, 9, 30, 41, 52, 60])
    agent.reset(problem, np.random.default_rng(0))
    failed = np.arange(7) == 4
    sds = np.where(np.arange(7) % 2, 0.2, np.nan)
    rewards = np.where(failed, np.nan, wave(GRID[arms]))
    agent.observe(Feedback(np.arange(7), arms, rewards, np.ones(7), failed, sds))
    parts = agent.posterior.parts if isinstance(agent.posterior, Mixture) else (agent.posterior,)
    everywhere = agent.space.coordinates(np.arange(len(GRID)))
    for actions in ([17, 9], [17, 9, 17], [17, 9, 17, 3], [5, 17]):  # as a batch grows, and of another one
        believed = agent._hallucinated(np.array(actions))
        Z = agent.space.coordinates(np.array(actions))
        X, known = np.concatenate([agent.X, Z]), np.append(agent.known, np.full(len(Z), np.nan))
        anew = [
            GPRegression(part.kernel, X, np.append(agent.y, part.at(Z)[0]), part.lam, agent.prior_mean, known)
            for part in parts
        ]
        dense = Mixture(anew, agent.spread) if len(anew) > 1 else anew[0]
        found = [*believed.at(everywhere), *believed.at_with_gradient(everywhere)]
        for ours, theirs in zip(found, [*dense.at(everywhere), *dense.at_with_gradient(everywhere)], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)
        mean, bound = believed.mean_and_bound(everywhere)
        np.testing.assert_allclose(mean, found[0], rtol=1e-9, atol=1e-9)
        assert (bound >= found[1]).all()


def test_a_batch_is_what_is_asked_one_by_one() -> None:
    problem = make_problem(GRID)
    one, all_ = (begun(problem, "MAP-BUCB", n_initial=4) for _ in range(2))
    batch = all_.select(4, Pending.empty(problem))
    pending = Pending.empty(problem)
    for t in range(4):
        pending = Pending(np.arange(t + 1), np.append(pending.actions, one.select(1, pending)))
    np.testing.assert_array_equal(batch, pending.actions)


def test_without_repeats_an_arm_comes_again_only_once_all_have() -> None:
    arms = GRID[:12]
    problem = make_problem(arms)
    agent = begun(problem, "MAP-BUCB", n_initial=4, repeats=False)
    seen: list[int] = []
    for _ in range(3):
        batch = agent.select(4, Pending.empty(problem))
        assert set(batch.tolist()).isdisjoint(seen)
        seen += batch.tolist()
        agent.observe(Feedback.of(range(len(seen) - 4, len(seen)), batch, wave(arms[batch])))
    assert sorted(seen) == list(range(12))
    assert agent.recommend() == np.argmax(wave(arms))  # among all of them
    assert len(agent.select(4, Pending.empty(problem))) == 4
    with_failure = begun(problem, "MAP-BUCB", n_initial=2, repeats=False)
    first = with_failure.select(1, Pending.empty(problem))
    failed = np.array([True])
    with_failure.observe(Feedback(np.array([0]), first, np.array([np.nan]), np.ones(1), failed))
    assert first[0] not in with_failure.select(11, Pending.empty(problem))


def test_only_arms_that_are_offered() -> None:
    problem = make_problem(GRID)
    agent = begun(problem, "MAP-BUCB", n_initial=3)
    agent.offer(np.array([4, 17, 60]))
    for t in range(6):
        arms = agent.select(2, Pending.empty(problem))
        assert set(arms.tolist()) <= {4, 17, 60}
        agent.observe(Feedback.of([2 * t, 2 * t + 1], arms, wave(GRID[arms])))


@pytest.mark.parametrize("id", ["MAP-BUCB", "MAP-UCB", "Random", "GP-UCB"])
def test_categories_of_a_box(id: str) -> None:
    domain = Domain(
        (Dimension(choices=("a", "b", "c"), name="base"), Dimension(0, 10, name="t"), Dimension(1, 4, integer=True))
    )
    problem = make_problem(dim=domain.dim, notes={"domain": domain.to_spec()})
    kwargs: dict[str, Any] = {
        "Random": {},
        "GP-UCB": {**FEW, "width": 1.0, "kernel": {"name": "se", "lengthscale": 0.7}, "lam": 0.01, "n_start": 3},
    }
    agent = begun(problem, id, **kwargs.get(id, {**FEW, "n_initial": 5}))
    best, bases = [], []
    for t in range(18):
        x = agent.select(1, Pending.empty(problem))
        np.testing.assert_array_equal(domain.snap(x), x)
        base, time, level = domain.values(x)[0]
        reward = {0: 0.0, 1: 1.0, 2: 0.2}[base] - abs(time - 6) / 10 - 0.2 * abs(level - 3)
        best.append(reward)
        bases.append(base)
        agent.observe(Feedback.of([t], x, [reward]))
    if id != "Random":
        assert max(best) > 0.7
        assert bases[-6:].count(1) > 3  # it has learnt which category is the best


def test_informative_priors_hold_lengthscales_back() -> None:
    prior = HyperPrior.informative(9)
    assert isinstance(prior.lengthscale, LogNormal)
    assert np.exp(prior.lengthscale.location) == pytest.approx(1.2)
    agent = begun(make_problem(), "MAP-BUCB", prior={"noise": {"name": "flat"}})
    assert agent.hyper_prior.lengthscale == HyperPrior().lengthscale


def test_of_many_evaluations_some_say_the_hyperparameters_and_all_the_posterior() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((2_001, 2))
    y = wave(X) + 0.1 * rng.standard_normal(len(X))
    agent = MAPBUCB(n_initial=4, **FEW)  # type: ignore[arg-type]
    agent.reset(replace(make_problem(), initial=InitialData(rewards=y, points=X)), np.random.default_rng(0))
    assert agent.prior_mean == pytest.approx(y.mean())
    (known,) = agent.hyperparameters
    assert known.noise == pytest.approx(0.01, rel=0.3)
    dense = GPRegression(known.kernel(agent.family), X, y, known.noise, agent.prior_mean)
    Z = rng.random((5, 2))
    np.testing.assert_allclose(agent.predict(Z)[0], dense.at(Z)[0])


@pytest.mark.parametrize("table", [False, True], ids=["ranges", "table"])
def test_an_experiment_names_its_categories(table: bool) -> None:
    """Both on ranges and on tables: one lengthscale and one variance for each, and 'none of it' where it is asked."""
    settings: Any = {"x": (0, 1), "base": ["a", "b", "c"], "y": (0, 1)}
    if table:
        settings = [{"x": i / 7, "base": "abc"[i % 3], "y": (i % 5) / 4} for i in range(8)]
    data = [{"x": i / 7, "base": "abc"[i % 3], "y": (i % 5) / 4, "outcome": float(i % 3)} for i in range(8)]
    for agent, levels in (("MAP-BUCB", 1), (("MAP-BUCB", {"categories": False}), 0)):
        lab = Experiment(settings, agent, data=data, repeats=True)
        (known,) = lab._agent.hyperparameters  # type: ignore[union-attr]
        assert len(known.levels) == levels
        assert len(known.lengthscales) == 5
        assert (len(set(known.lengthscales[1:4])) == 1) == (levels == 1)
        assert len(lab.ask(2)) == 2


# ---- the mixture over hyperparameters: its moments, its gradient, and its batches on arms and boxes ----


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
