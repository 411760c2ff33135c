"""Annotations are enforced in the project, and in functions inside functions until a test has made its checks."""

from __future__ import annotations

import os
from collections.abc import Callable

import jaxtyping
import numpy as np
import pytest
from jaxtyping import Float

from gpbandit_envs.gp import SE
from tests import shapes

checked = shapes.jaxtyped(typechecker=shapes.check)


def inner() -> Callable[..., object]:
    @checked
    def mean(x: Float[np.ndarray, " n"]) -> float:
        return float(x.mean())

    return mean


def refused(call: Callable[..., object], x: np.ndarray) -> bool:
    """Not with `pytest.raises`: a test with it gives wrong arguments on purpose, and nothing is enforced."""
    try:
        call(x)
    except jaxtyping.TypeCheckError:
        return True
    return False


@pytest.mark.skipif(os.environ.get("GPBANDIT_SHAPES") == "0", reason="GPBANDIT_SHAPES=0: nothing is enforced")
def test_modules_of_the_project_are_checked() -> None:
    assert not refused(SE(0.5).diag, np.zeros((3, 2)))
    assert refused(SE(0.5).diag, np.zeros(3))


def test_a_function_inside_another_is_checked_until_a_test_has_made_its_checks() -> None:
    mean = inner()
    assert refused(mean, np.zeros((3, 2)))
    for _ in range(shapes.MOST):
        mean(np.zeros(3))
    assert not refused(mean, np.zeros((3, 2)))
    plain = inner()
    assert not hasattr(plain, "__wrapped__"), "made when nothing is checked any more, it is compiled no checks"
    jaxtyping.config.update("jaxtyping_disable", False)
    assert refused(mean, np.zeros((3, 2)))
    assert refused(inner(), np.zeros((3, 2)))
