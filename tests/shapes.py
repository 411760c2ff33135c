"""Annotations enforced: an array of the wrong shape or dtype stops the test that passes it.

jaxtyping's import hook checks every function of the three packages with beartype. `tests/conftest.py` installs it
before any of them is imported; processes that a test starts run without it, and so does the tier whose tests start
processes or play for long: there the checks would cost much, and those that find something are the first of a test.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import numpy as np
import pytest
from beartype import BeartypeConf, FrozenDict, beartype

MOST = 500
"""Checks in one test. One takes some 30 microseconds, and the loop of a policy repeats the same ones."""

_checks = 0
_conf = BeartypeConf(
    # A number may be NumPy's, and an int stands for a float, as PEP 484 has it.
    hint_overrides=FrozenDict({int: int | np.integer, float: float | int | np.floating | np.integer})
)


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Beartype for the import hook, with its checks counted.

    They are made when they are first asked for: with those of all functions an import would take twice as long.
    """
    checked: Callable[..., Any] | None = None

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        global _checks
        nonlocal checked
        if checked is None:
            checked = beartype(conf=_conf)(function)
        _checks += 1
        if _checks == MOST:
            jaxtyping.config.update("jaxtyping_disable", True)
        return checked(*args, **kwargs)

    return counted


_jaxtyped = jaxtyping.jaxtyped


def jaxtyped(*, typechecker: Any) -> Callable[[Any], Any]:
    """That of jaxtyping, but for functions that are made inside others while nothing is checked.

    They are made anew with each call of the outer one, and each costs some ten milliseconds to compile its checks.
    """
    decorated = _jaxtyped(typechecker=typechecker)

    def decorate(made: Any) -> Any:
        inner = inspect.isfunction(made) and "<locals>" in made.__qualname__
        return made if inner and jaxtyping.config.jaxtyping_disable else decorated(made)

    return decorate


# All but the command line, whose annotations are Typer's.
_ROOMS = ("play", "store", "work", "verify", "score", "publish", "audit", "show", "claims", "api")
_LEADERBOARDS = [f"leaderboards.{room}" for room in _ROOMS]
if os.environ.get("GPBANDIT_SHAPES", "1") != "0":
    # What the hook writes into the modules looks it up there.
    jaxtyping.jaxtyped = jaxtyped  # type: ignore[assignment]
    jaxtyping.install_import_hook(["gpbandit_envs", "agents", *_LEADERBOARDS], "tests.shapes.check")


@pytest.fixture(autouse=True)
def enforced_annotations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Not enforced where a test gives wrong arguments on purpose, to see what is raised."""
    global _checks
    _checks = 0
    marked = request.node.get_closest_marker("wrong_arguments") is not None
    jaxtyping.config.update("jaxtyping_disable", marked or _expects_an_error(request.function))
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@functools.cache
def _expects_an_error(test: Callable[..., object]) -> bool:
    return "pytest.raises(" in inspect.getsource(test)
