"""Policies side by side choose, recommend and state bands as they do alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents.core.gp_settings import WidthContext
from agents.core.turns import turns
from agents.core.widths import Scaled, WidthSchedule
from agents.many import VectorAgent, make_vec
from benchmarks.ties import POLICIES
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, Problem

R, T, XI = 2, 30, 0.1
X = np.random.default_rng(0).random((40, 2))
MEANS = 0.5 + np.sin(5 * X[:, 0] + np.arange(R)[:, None]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=XI, norm_bound=1.5, horizon=T, prior_mean=0.5)
NOISE = XI * np.random.default_rng(1).standard_normal((R, T))
NAMESPACES = ["numpy", "array_api_strict", "torch", pytest.param("torch:cuda", marks=pytest.mark.cuda)]


class Own(WidthSchedule):
    def __call__(self, context: WidthContext) -> float:
        return 1.0


def rngs(n: int = R) -> list[np.random.Generator]:
    return [np.random.default_rng((7, i)) for i in range(n)]


def play_all(agent: VectorAgent, problem: Problem = PROBLEM, n: int = R) -> np.ndarray:
    """The arms of each repetition."""
    put, get = agent.device.put, agent.device.get
    agent.reset(problem, rngs(n))
    chosen = np.zeros((n, problem.horizon or 0), np.int64)
    for t in range(chosen.shape[1]):
        chosen[:, t] = get(agent.select())
        agent.observe(put(MEANS[np.arange(n), chosen[:, t]] + NOISE[:n, t]))
    return chosen


def play_alone(id: str, kwargs: dict[str, Any], problem: Problem = PROBLEM) -> tuple[np.ndarray, list[agents.Agent]]:
    chosen, players = [], []
    for i, rng in enumerate(rngs()):
        agent = agents.make(id, **kwargs)
        agent.reset(problem, rng)
        played = turns(agent, problem)
        for evaluation in played:
            evaluation.tell(MEANS[i, evaluation.action] + NOISE[i, evaluation.ticket])
        chosen.append(played.actions)
        players.append(agent)
    return np.stack(chosen), players


@pytest.mark.parametrize(
    ("name", "device"),
    [
        *((name, "numpy") for name in [*POLICIES, "VA-MVR", "VA-PE"]),
        *((name, device) for name in ("VA-PE", "GP-UCB, DMM", "GP-AUCB") for device in NAMESPACES[1:3]),
    ],
)
def test_choices_recommendations_and_bands_are_those_of_single_agents(name: str, device: str) -> None:
    pytest.importorskip(device)
    id, kwargs = POLICIES.get(name, (name, {}))
    problem = replace(PROBLEM, noise_stds=XI * np.linspace(0.5, 1, len(X))) if name.startswith("VA-") else PROBLEM
    expected, players = play_alone(id, kwargs, problem)
    many = make_vec(id, device=device, **kwargs)
    assert (play_all(many, problem) == expected).all()
    assert many.device.get(many.recommend()).tolist() == [agent.recommend() for agent in players]
    band = many.band()
    for i, agent in enumerate(players):
        if (alone := agent.predict(X)) is not None:
            assert band is not None
            for part, expected_part in zip(band, alone):
                np.testing.assert_allclose(many.device.get(part)[i], expected_part, rtol=1e-7, atol=1e-9)


def test_every_policy_that_plays_side_by_side_is_held_to_it() -> None:
    loaded = {id: agents.spec(id).load() for id in agents.registered() if agents.spec(id).entry_point.__class__ is str}
    able = {id for id, kind in loaded.items() if isinstance(kind, type) and vars(kind).get("side_by_side")}
    assert able == {id for id, _ in POLICIES.values()} | {"UncertaintySampling", "VA-MVR", "VA-PE"}


def test_it_begins_anew_with_every_reset() -> None:
    many = make_vec("GP-UCB", width=1.0)
    other = replace(PROBLEM, kernel=SE(0.1))
    first = play_all(many)
    assert (play_all(many, other) == play_alone("GP-UCB", {"width": 1.0}, other)[0]).all()
    assert (play_all(many, n=2) == first[:2]).all()


def test_rows_of_single_precision_choose_almost_the_same() -> None:
    exact, single = (play_all(make_vec("GP-UCB", width=1.0, precision=name)) for name in ("float64", "float32"))
    assert (exact == single).mean() > 0.9
    assert make_vec("GP-UCB", precision="float32").bytes_each(PROBLEM) < make_vec("GP-UCB").bytes_each(PROBLEM)


@pytest.mark.parametrize("keeps", [True, False])
def test_one_repetition_keeps_a_row_a_distinct_arm(keeps: bool) -> None:
    problem = replace(PROBLEM, arms=X[:5].copy(), horizon=300)
    many, alone = make_vec("GP-UCB", width=1.0), agents.make("GP-UCB", width=1.0)
    rng, noise = np.random.default_rng(7), np.random.default_rng(3).standard_normal(300)
    many.keeps = keeps
    many.reset(problem, [rng])
    alone.reset(problem, rng)
    played, used = turns(alone, problem), 0
    for evaluation in played:
        arms = many.select()
        assert arms.tolist() == [evaluation.action]
        reward = MEANS[0, evaluation.action] + 5 * noise[evaluation.ticket]
        evaluation.tell(reward)
        many.observe(np.array([reward]))
        used = max(used, many.agent.posterior._used)
    assert used < 100
    np.testing.assert_allclose(many.band()[0][0], alone.predict(X[:5])[0], atol=1e-9)  # type: ignore[index]


class TestRefusals:
    @pytest.mark.parametrize(
        ("other", "what"),
        [
            ({"arms": None}, "a box"),
            ({"contexts": True}, "which offers some"),
            ({"time_varying": True}, "which changes with time"),
            ({"initial": InitialData(arms=np.array([0]), rewards=np.zeros(1))}, "which comes with existing data"),
        ],
    )
    def test_of_a_problem(self, other: dict[str, Any], what: str) -> None:
        with pytest.raises(ValueError, match=f"expected finite arms, all of them offered, got test, {what}"):
            make_vec("GP-UCB").reset(replace(PROBLEM, **other), rngs(1))

    def test_of_no_horizon(self) -> None:
        with pytest.raises(ValueError, match="problem: expected one that states a horizon, got test"):
            make_vec("GP-UCB").reset(replace(PROBLEM, horizon=None), rngs(1))

    @pytest.mark.parametrize(
        ("id", "kwargs", "why"),
        [
            ("BBKB", {}, "BBKB has no batched form"),
            ("MAP-UCB", {}, "MAPUCB has no batched form"),
            ("GP-UCB", {"norm_bound": "double"}, "doubles its norm bound"),
            ("GP-UCB", {"width": Own()}, "is a schedule of one's own"),
            ("GP-UCB", {"width": Scaled(Own(), 2.0)}, "is a schedule of one's own"),
            ("GP-UCB", {"initial": {"arms": [1], "rewards": [0.0]}}, "was given existing data"),
        ],
    )
    def test_of_an_agent(self, id: str, kwargs: dict[str, Any], why: str) -> None:
        with pytest.raises(ValueError, match=f"agent: .*{why}.*; leaderboards.simulate plays its repetitions one by"):
            make_vec(id, **kwargs)

    def test_of_a_class_that_inherits_the_form(self) -> None:
        from agents.exact.gp_ucb import GPUCB
        from agents.many import side_by_side
        from gpbandit_envs.arrays import Device

        class Mine(GPUCB):
            pass

        with pytest.raises(ValueError, match="Mine has no batched form"):
            side_by_side(Mine(), Device())

    def test_of_arguments(self) -> None:
        with pytest.raises(ValueError, match="batch_size"):
            make_vec("GP-BUCB", batch_size=0)
        with pytest.raises(TypeError, match="wdith"):
            make_vec("GP-UCB", wdith=2.0)
        with pytest.raises(ValueError, match="precision: expected"):
            make_vec("GP-UCB", precision="half")

    def test_of_what_is_told(self) -> None:
        many = make_vec("GP-UCB", width=2.0)
        with pytest.raises(ValueError, match="select: expected reset"):
            many.select()
        with pytest.raises(TypeError, match="rngs: expected a list of generators, one a repetition, got 3"):
            many.reset(PROBLEM, 3)  # type: ignore[arg-type]
        many.reset(PROBLEM, rngs())
        many.select()
        for wrong in (np.array([0.5, np.nan]), np.zeros(1), 0.5, [0.1, 0.2]):
            with pytest.raises(ValueError, match="rewards: expected an array of 2 finite numbers, got"):
                many.observe(wrong)
        many.observe(np.zeros(2))
        with pytest.raises(ValueError, match="observe: expected select"):
            many.observe(np.zeros(2))

    @pytest.mark.wrong_arguments
    def test_of_a_device(self) -> None:
        with pytest.raises(ValueError, match=r"device: expected 'torch:cuda', 'torch', .*, got 'nonesuch'"):
            make_vec("GP-UCB", device="nonesuch")
        with pytest.raises(ImportError, match="device: 'cupy' needs cupy, which is not installed"):
            make_vec("GP-UCB", device="cupy")
        with pytest.raises(TypeError, match="device: expected a name such as 'torch:cuda', got 3"):
            make_vec("GP-UCB", device=3)  # type: ignore[arg-type]
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            with pytest.raises(ValueError, match="device: 'cuda' cannot hold float64 arrays: ") as error:
                make_vec("GP-UCB", device="cuda")
            assert "\n" not in str(error.value)
