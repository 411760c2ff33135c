"""What an author gets wrong first: the capabilities of a class, and what is handed to `check_agent`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agents
from agents import Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent


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
        (
            {"domains": {"box"}, "batch": "batched"},
            "batch: expected 'sequential', 'fixed' or 'adaptive', got 'batched'",
        ),
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
