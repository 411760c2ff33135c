"""The README is true: its tables are current and its code runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import agents.core.registry
from leaderboards.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_tables_are_current() -> None:
    # In a process of its own: other tests register agents of theirs.
    subprocess.run([sys.executable, ROOT / "docs" / "readme.py", "--check"], check=True)


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
