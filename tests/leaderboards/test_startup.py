"""What `gpbandit` imports before it knows what is asked of it: nothing that takes long."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
import typer

import agents
import gpbandit_envs
import leaderboards
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.cli.app import app
from leaderboards.play.build import load_plugins
from leaderboards.play.suite import load_suite, suite_names

HEAVY = (
    *("pandas", "scipy", "plotly", "pyarrow", "rich", "seaborn", "matplotlib", "jinja2", "jaxtyping"),
    *("distributed", "dask", "loky", "optuna", "torch", "xgboost", "statsmodels", "sklearn"),
)
OURS = (
    *("agents", "gpbandit_envs.envs", "gpbandit_envs.gp", "gpbandit_envs.datasets"),
    *(f"leaderboards.{room}" for room in ("play", "store", "work", "verify", "score", "archive")),
)
IMPORTED = """
import sys
from leaderboards.cli import main
try:
    main(sys.argv[1:])
finally:
    print("imported", *sys.modules)
"""


def imported_by(*arguments: str) -> set[str]:
    """Modules that are there when a command has ended."""
    ended = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    return set(ended.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [("--help",), ("list", "--help"), ("list",)], ids=" ".join)
def test_nothing_heavy_is_imported(arguments: tuple[str, ...]) -> None:
    modules = imported_by(*arguments)
    assert "typer" in modules
    assert modules & set(HEAVY) == set()
    if not load_plugins():  # which are imported, with all they need
        assert not [name for name in modules if name.startswith(OURS)]


def test_help_needs_neither_numpy_nor_gymnasium() -> None:
    assert imported_by("--help") & {"numpy", "gymnasium"} == set()


def test_lists_agree_with_what_is_imported(capsys: pytest.CaptureFixture[str]) -> None:
    """The lists are read from sources; here they meet the classes and models that these sources make."""
    command = typer.main.get_command(app)
    command(["list"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    for row in ENVIRONMENTS:
        assert f"  {row.id}  (horizon {row.horizon}, {row.states_kernel})" in lines
    for id in agents._BUILT_IN:
        assert f"  {id}" in lines
    for name in suite_names():
        suite = load_suite(name)
        assert f"  {name}  ({sum(1 for _ in suite.specs())} runs)  {suite.description}" in lines


def test_the_help_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    typer.main.get_command(app)(["--help"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[1:] if line.endswith("...")]


def test_the_package_offers_its_names() -> None:
    import leaderboards

    assert all(getattr(leaderboards, name) for name in leaderboards.__all__)
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = leaderboards.walk


@pytest.mark.parametrize("package", [leaderboards, gpbandit_envs], ids=lambda package: package.__name__)
def test_completion_shows_names_that_are_imported_at_first_use(package: ModuleType) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", f"import {package.__name__} as p; print(*dir(p))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(package.__all__) <= set(ended.stdout.split())
    assert "__doc__" in dir(package)
