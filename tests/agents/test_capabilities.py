"""What agents declare, answer and are shown as."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from agents.core.gp_agent import GPAgent
from agents.core.turns import AgentError, check_actions, check_recommendation
from agents.exact.gp_ucb import GPUCB
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, Problem
from tests.agents.play import noisy, play


class Nameless(FiniteArmAgent):
    """States no capabilities."""

    def select(self, n: int, pending: Pending) -> np.ndarray:
        return np.zeros(1, np.int64)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"domains": {"finit"}}, "domains: expected a set among finite, box, got {'finit'}"),
        ({"domains": "finite"}, "domains: expected a set among finite, box, got 'finite'"),
        ({"domains": set()}, "domains: expected at least one of finite, box, got none"),
        ({"domains": {"box"}, "batch": "batched"}, "batch: expected 'sequential', 'fixed' or 'adaptive', got"),
        ({"domains": {"box"}, "needs": {"prior"}}, "needs: expected a set among kernel, noise, horizon, norm, neigh"),
    ],
)
def test_a_misspelt_capability_is_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as raised:
        Capabilities(**kwargs)
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize("reward", [5.0, np.inf])
def test_a_failed_evaluation_has_no_reward(reward: float) -> None:
    rewards, failed = np.array([1.0, np.nan, reward]), np.array([False, True, True])
    with pytest.raises(ValueError, match=f"rewards: expected NaN where failed, got {reward} for ticket 6"):
        Feedback(np.array([4, 5, 6]), np.arange(3), rewards, np.ones(3), failed)


def test_the_check_says_what_it_wants_to_be_given() -> None:
    with pytest.raises(TypeError, match="agent: expected an agent, its class, a function that builds it or its id"):
        agents.check_agent(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"expected one that is registered, got 'a\.module:Class': import the class"):
        agents.make("a.module:Class")
    with pytest.raises(ValueError, match="no agent 'Unifrom'; did you mean 'Uniform'"):
        agents.check_agent("Unifrom")
    with pytest.raises(agents.AgentCheckError, match="capabilities: expected a Capabilities as an attribute"):
        agents.check_agent(Nameless)


# ---- answers of agents that are no actions ----


ARMS = Problem(name="arms", dim=1, arms=np.linspace(0, 1, 10)[:, None])
BOX = Problem(name="box", dim=2)


@pytest.mark.parametrize("problem", [ARMS, BOX], ids=["arms", "box"])
@pytest.mark.parametrize("empty", [np.array([]), np.zeros(0, bool), np.zeros((0, 7))], ids=["float", "bool", "wide"])
def test_no_action_is_no_action_whatever_the_type_of_the_empty_array(problem: Problem, empty: np.ndarray) -> None:
    found = check_actions(empty, 3, False, problem)
    assert found.shape == ((0,) if problem.is_finite else (0, 2))
    assert found.dtype == (np.int64 if problem.is_finite else np.float64)
    with pytest.raises(AgentError, match="select: expected 3 actions, got 0"):
        check_actions(empty, 3, True, problem)


@pytest.mark.parametrize("point", [[[1.0], [1.0, 2.0]], "here", None, [0, 1]])
def test_what_is_no_point_is_no_recommendation(point: Any) -> None:
    with pytest.raises(AgentError, match="recommend: expected a point of shape"):
        check_recommendation(point, BOX)


# ---- settings that policies inherit: the same words for the same thing in all of them, and no episode changes one ----


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
    ("id", "settings", "words"),
    [
        ("MAP-UCB", {"width": 0.0}, "width: expected a finite number > 0"),
        ("MAP-UCB", {"n_initial": 0}, "n_initial: expected an integer >= 1"),
        ("MAP-UCB", {"family": "cosine"}, "family: expected 'matern52', 'matern32' or 'se'"),
        ("MAP-UCB", {"prior": {"nois": {"name": "flat"}}}, "prior: unknown field 'nois'"),
        ("MAP-UCB", {"prior": {"noise": {"name": "beta"}}}, 'expected "name" to be one of flat, gamma, log_normal'),
        ("MCMC-UCB", {"samples": 0}, "samples: expected an integer >= 1"),
        ("A-GP-UCB", {"exponent": 1.0}, r"exponent: expected a number in \(0.5, 1\)"),
        ("Wang-deFreitas", {"kappa": 2.0}, r"kappa: expected a number in \(0, 1\)"),
        ("TV-GP-UCB", {"eps": 2.0}, r"eps: expected a rate in \[0, 1\] or None, got 2.0"),
        ("TV-GP-UCB", {"width": "theory"}, "width: expected"),
        ("R-GP-UCB", {"block": 0}, "block: expected"),
        ("R-GP-UCB", {"width": "dmm"}, "width"),
        ("SW-GP-UCB", {"window": 0}, "window: expected"),
        ("WGP-UCB", {"eta": 0.0}, r"eta: expected a factor in \(0, 1\], got 0.0"),
        ("BPE-Delay", {"delay": 3}, "delay: expected a mapping with mean"),
        ("BPE-Delay", {"delay": {"scale": 3}}, "delay: expected a mapping with mean"),
        ("BPE-Delay", {"delay": {"mean": -1.0}}, "mean: expected a finite number >= 0"),
        ("BPE-Delay", {"extension": "long"}, "extension: expected"),
        ("RGP-UCB", {"corruption": -1.0}, "corruption: expected a finite number >= 0"),
        ("RGP-UCB", {"enlargement": -1.0}, "enlargement: expected 'theory' or a finite number"),
        ("RGP-UCB", {"norm_bound": "double"}, "may show a corruption"),
        ("RGP-PE", {"corruption": float("nan")}, "corruption: expected a finite number >= 0"),
        ("RGP-PE", {"enlargement": -1.0}, "enlargement: expected 'theory', 'tight' or"),
        ("RGP-PE", {"psi": 0.0}, "psi: expected a number in"),
        ("RGP-PE", {"eta": 0.5}, "eta: expected a finite number >= 1"),
        ("RGP-PE", {"width": "amm"}, "width: expected one of 'theory'"),
        ("VA-PE", {"lam": 1.0}, "lam: expected None with noise='by_arm'"),
        ("VA-MVR", {"lam": 1.0}, "lam: expected None with noise='by_arm'"),
        ("MVR", {"noise": "loud"}, "noise: expected 'common' or 'by_arm'"),
        ("EC-GP-UCB", {"misspecification": -0.1}, "misspecification: expected a finite number >= 0"),
        ("EC-GP-UCB", {"misspecification": float("nan")}, "misspecification: expected a finite number >= 0"),
        ("EC-GP-UCB", {"norm_bound": "double"}, "norm_bound: expected a number"),
        ("EC-GP-UCB", {"width": "dmm"}, "width: expected one of"),
        ("BBKB", {"norm_bound": "triple"}, "norm_bound: expected a number, 'double' or None, got 'triple'"),
        ("BBKB", {"norm_bound": {"first": 1.0}}, "norm_bound: expected a mapping such as"),
        ("BBKB", {"norm_bound": {"double": -1.0}}, "norm_bound: expected a finite number > 0 or None, got -1.0"),
        ("BBKB", {"initial": [1, 2]}, "initial: expected {'arms' or 'points'"),
        (
            "BBKB",
            {"initial": {"arms": [0]}},
            r"initial: expected the keys 'arms' \(on a box 'points'\) and 'rewards', got",
        ),
        ("BBKB", {"initial": {"arms": [0], "rewards": []}}, "initial: rewards: expected one for each of 1 arms"),
        ("MVR", {"n_start": 1}, "MVR: unknown argument 'n_start'"),
        ("GP-UCB-SDF", {"n_start": 1}, "GP-UCB-SDF: unknown argument 'n_start'"),
        ("BPE-Delay", {"lengths": 1}, "BPE-Delay: unknown argument 'lengths'"),
        ("GP-AUCB", {"starts": 1}, "GP-AUCB: unknown argument 'starts'"),
        ("GP-EI", {"norm_bound": 1}, "GP-EI: unknown argument 'norm_bound'"),
        *(("BKB", {"width": {"name": "theory", "eps": x}}, "eps: expected a number in") for x in (0.0, 1.0, 2.0, "a")),
    ],
)
def test_wrong_settings_are_named(id: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        agents.make(id, **settings)


def test_the_last_class_that_describes_an_argument_is_heard() -> None:
    agent = agents.make("BKB")
    assert (agent.n_start, agents.make("GP-UCB").n_start) == (1, 0)  # type: ignore[attr-defined]
