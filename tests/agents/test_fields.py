"""Settings that policies inherit: the same words for the same thing in all of them, and no episode changes one."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import agents
from agents.core.gp_agent import GPAgent
from agents.exact.gp_ucb import GPUCB
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, Problem
from tests.agents.play import noisy, play

X = np.random.default_rng(0).random((40, 2))
MEAN = np.sin(5 * X[:, 0])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=1.5, horizon=25)
DATA = {"arms": [3, 3, 17], "rewards": [0.4, 0.2, -0.1]}
NEEDED: dict[str, dict[str, Any]] = {"R-GP-UCB": {"block": 7}, "TV-GP-UCB": {"eps": 0.05}}
IDS = [id for id in agents.registered() if str(agents.spec(id).entry_point).startswith("agents.")]
GIVEN_KERNEL = [id for id in IDS if issubclass(agents.spec(id).load(), GPAgent)]  # type: ignore[arg-type]


@pytest.mark.parametrize("id", GIVEN_KERNEL)
def test_data_given_to_a_policy_are_as_those_of_the_problem(id: str) -> None:
    on_card = replace(PROBLEM, initial=InitialData(arms=np.array(DATA["arms"]), rewards=np.array(DATA["rewards"])))
    kwargs = NEEDED.get(id, {})
    given = play(agents.make(id, initial=DATA, **kwargs), PROBLEM, noisy(MEAN, 0.1, 0), 0)
    assert play(agents.make(id, **kwargs), on_card, noisy(MEAN, 0.1, 0), 0) == given
    other = replace(PROBLEM, initial=InitialData(arms=np.array([8]), rewards=np.array([2.0])))
    assert play(agents.make(id, initial=DATA, **kwargs), other, noisy(MEAN, 0.1, 0), 0) == given  # the last word
    assert play(agents.make(id, **kwargs), PROBLEM, noisy(MEAN, 0.1, 0), 0) != given


@pytest.mark.parametrize(
    "id", [id for id in GIVEN_KERNEL if "n_start" in inspect.signature(agents.spec(id).load()).parameters]
)
def test_an_initial_design_is_uniform_and_comes_first(id: str) -> None:
    arms = np.concatenate(play(agents.make(id, n_start=6, **NEEDED.get(id, {})), PROBLEM, noisy(MEAN, 0.1, 0), 3))
    assert arms[:6].tolist() == np.random.default_rng(3).integers(40, size=6).tolist()


@pytest.mark.parametrize("id", IDS)
def test_no_episode_changes_a_setting(id: str) -> None:
    try:
        agent = agents.make(id, **NEEDED.get(id, {}))
    except ImportError as error:
        pytest.skip(str(error))
    settings: Any = agent
    if not hasattr(type(agent), "__dataclass_fields__") or "finite" not in agent.capabilities.domains:
        pytest.skip("it has no fields, or plays on boxes alone")
    before = {field.name: getattr(agent, field.name) for field in fields(settings)}
    problem = replace(PROBLEM, horizon=8)
    play(agent, problem, noisy(MEAN, 0.1, 0), 0)
    after = {field.name: getattr(agent, field.name) for field in fields(settings)}
    assert all(after[name] is value for name, value in before.items())


def test_settings_are_given_by_name() -> None:
    build: Any = GPUCB
    with pytest.raises(TypeError, match="positional"):
        build(SE(0.3))
    with pytest.raises(TypeError, match=r"GP-UCB: unknown argument 'bata'; it takes kernel, lam, .*width"):
        agents.make("GP-UCB", bata=2.0)


@pytest.mark.parametrize(
    ("id", "setting"),
    [
        ("MVR", "n_start"),
        ("GP-UCB-SDF", "n_start"),
        ("BPE-Delay", "lengths"),
        ("GP-AUCB", "starts"),
        ("GP-EI", "norm_bound"),
    ],
)
def test_what_a_policy_cannot_take_it_does_not_accept(id: str, setting: str) -> None:
    with pytest.raises(TypeError, match=f"{id}: unknown argument '{setting}'"):
        agents.make(id, **{setting: 1})


def test_the_last_class_that_describes_an_argument_is_heard() -> None:
    agent = agents.make("BKB")
    assert (agent.n_start, agents.make("GP-UCB").n_start) == (1, 0)  # type: ignore[attr-defined]
