"""Whatever code the documentation shows is executed, page by page, in an empty folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import agents.core.registry
import leaderboards.cli
from leaderboards.cli.app import app
from tests.docs.blocks import Block, blocks, commands

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(block.language in ("python", "sh") for block in blocks(page))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in; what a page registers or imports is forgotten afterwards."""
    monkeypatch.setattr(agents.core.registry, "_registry", dict(agents.core.registry._registry))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    known, handler = set(sys.modules), signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)
    for module in set(sys.modules) - known:
        file = getattr(sys.modules[module], "__file__", None)
        if module == "a_page_of_the_docs" or str(file).startswith(str(tmp_path)):
            del sys.modules[module]


def give(words: list[str], where: str) -> None:
    """Give a `gpbandit` command, in this process."""
    if words[0] == "run" and "--executor" not in words:
        words = [*words, "--executor", "serial"]  # all executors give the same traces; this one starts at once
    if words[0] in ("verify", "audit"):
        words = [*words, "--workers", "1"]
    with pytest.raises(SystemExit) as ended:
        leaderboards.cli.main(words)
    assert ended.value.code == 0, f"{where}: gpbandit {' '.join(words)}"


def exists(words: list[str]) -> None:
    """Raises if there is no such command, or no such option of it."""
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "get_command"):
        found = command.get_command(None, words[0])
        assert found is not None, f"{command.name} has no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    for word in words:
        assert not word.startswith("--") or word in known, f"{command.name} has no option {word}"


@pytest.mark.network
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = types.ModuleType("a_page_of_the_docs")
    sys.modules[module.__name__] = module  # where dataclasses look for their annotations
    for block in blocks(page):
        where = f"{name(page)}, line {block.line}"
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            # Line numbers of tracebacks are those of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            if not block.not_run:
                exec(code, vars(module))
                assert "print(" not in block.text or capsys.readouterr().out.strip(), where
        elif block.language == "sh":
            for words in commands(block):
                if block.not_run:
                    exists(words)
                else:
                    give(words, where)


def test_a_module_of_the_folder_is_found_by_the_installed_command(tmp_path: Path) -> None:
    """The guide on agents as its reader follows it: the console script, worker processes, a file of one's own."""
    script = Path(sys.executable).with_name("gpbandit")
    if not script.exists():
        pytest.skip(f"the package is not installed beside {sys.executable}")
    for block in blocks(ROOT / "docs" / "guides" / "agent.md"):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    words = [str(script), "run", "compare.toml", "--agent", "my_agent:Greedy", "--workers", "2"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "12 runs" in ended.stdout
    assert "12 done" in ended.stdout


def test_an_unknown_word_in_a_fence_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python skip\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page.md, line 2: expected file=NAME or 'no-run: REASON', got 'skip'"):
        blocks(page)


def test_commands_are_read_as_a_shell_reads_them() -> None:
    block = Block("sh", 'make x\ngpbandit run a \\\n  --out "b c"  # why\nsrun gpbandit page x\n', 1)
    assert commands(block) == [["run", "a", "--out", "b c"], ["page", "x"]]
