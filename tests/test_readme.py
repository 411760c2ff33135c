"""The README is true: its tables are current and its code runs."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import agents.core.registry
from leaderboards.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_readme", ROOT / "docs" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_current() -> None:
    assert generator().with_tables(README) == README, "run: .venv/bin/python docs/readme.py"


@pytest.mark.network
@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL), ids=lambda code: code[:24])
def test_the_code_runs(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(agents.core.registry, "_registry", dict(agents.core.registry._registry))
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    if "print(" in code:
        assert capsys.readouterr().out.strip()


def test_links_and_the_figure_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_the_commands_exist() -> None:
    commands = re.findall(r"^gpbandit ([^#\n]+)", README, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = [word for word in shlex.split(command) if not word.startswith("-")]
        result = CliRunner().invoke(app, [words[0], "--help"])
        assert result.exit_code == 0, command
