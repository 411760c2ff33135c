"""Examples in docstrings are executed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import agents
import gpbandit_envs
import leaderboards

pytestmark = pytest.mark.docs


def modules() -> Iterator[str]:
    for package in (gpbandit_envs, agents, leaderboards):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield found.name


def test_examples_give_what_they_show() -> None:
    for name in modules():
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            if error.name is not None and not error.name.startswith(("gpbandit_envs", "agents", "leaderboards")):
                continue  # the module of an extra that is not installed
            raise
        failed, _ = doctest.testmod(module)
        assert not failed, name


def test_a_wrong_example_would_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 1
    assert "Expected" in capsys.readouterr().out
