"""Answers of agents that are no actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.core.turns import AgentError, check_actions, check_recommendation
from gpbandit_envs.problem import Problem

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
