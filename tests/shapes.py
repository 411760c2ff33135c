"""Annotations enforced: an array of the wrong shape or dtype stops the test that passes it.

jaxtyping's import hook checks every function of the three packages with beartype. `tests/conftest.py` installs it
before any of them is imported; processes that a test starts run without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype

__all__ = ["annotations", "check"]

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""Beartype, with an int where a float is asked for, as PEP 484 has it."""

jaxtyping.install_import_hook(["gpbandit_envs", "agents", "leaderboards"], "tests.shapes.check")


@pytest.fixture(autouse=True)
def annotations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Not enforced in a slow test, nor where a test gives wrong arguments on purpose to see what is raised."""
    on_purpose = "pytest.raises(" in inspect.getsource(request.function)
    slow = request.node.get_closest_marker("slow") is not None
    jaxtyping.config.update("jaxtyping_disable", on_purpose or slow)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
