"""Whatever code the documentation shows is executed, page by page, in an empty folder; it prints what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.blocks import Block, agree, blocks, commands, pages, with_outputs
from docs.outputs import printed
from gpbandit_envs.datasets import load
from leaderboards.cli.app import app
from leaderboards.play.isolated import not_isolated
from leaderboards.play.processor import portable_environment

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "python docs/outputs.py writes what the blocks of a page print"


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def exists(words: list[str]) -> None:
    """Raises if there is no such command, or no such option of it."""
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "get_command") and not words[0].startswith("--"):
        found = command.get_command(None, words[0])
        assert found is not None, f"{command.name} has no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    for word in words:
        assert not word.startswith("--") or word in known, f"{command.name} has no option {word}"


@pytest.mark.network
@pytest.mark.parametrize("page", pages(ROOT), ids=name)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page: Path) -> None:
    if "Abalone" in page.read_text(encoding="utf-8"):  # fetched here, where the test can skip
        load("Abalone")
    if "gpbandit verify core" in page.read_text(encoding="utf-8") and (reason := not_isolated()):
        pytest.skip(reason)
    for block, output in zip(blocks(page), printed(page), strict=True):
        where = f"{name(page)}, line {block.line}"
        assert agree(block.output, output) or not portable_environment(), f"{where}: {REMEDY}; this one:\n{output}"
        if block.not_run and block.language == "sh":
            for words in commands(block):
                exists(words)


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
    assert "40 runs" in ended.stdout
    assert "40 done" in ended.stdout


def test_a_page_whose_code_fails_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"page.md ended with 1:(?s:.*)page.md\", line 2(?s:.*)ZeroDivisionError"):
        printed(page)


def test_an_unknown_word_in_a_fence_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python skip\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page.md, line 2: expected file=NAME, output or 'no-run: REASON', got"):
        blocks(page)
    page.write_text("```python\n1\n```\n\nProse.\n\n```text output\n1\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page.md, line 8: expected an output right after a block that is executed"):
        blocks(page)


def test_outputs_are_written_below_their_blocks_and_kept_where_they_say_the_same(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1.5)\n```\n\n```python\nx = 2\n```\n\nEnd.\n", encoding="utf-8")
    assert printed(page) == ["1.5\n", ""]
    page.write_text(with_outputs(page, ["1.5\n", ""]), encoding="utf-8")
    shown = "```python\nprint(1.5)\n```\n\n```text output\n1.5\n```\n\n```python\nx = 2\n```\n\nEnd.\n"
    assert page.read_text(encoding="utf-8") == shown
    assert [block.output for block in blocks(page)] == ["1.5\n", ""]
    assert with_outputs(page, ["1.5000001\n", ""]) == shown
    assert "```text output\n1.7\n```" in with_outputs(page, ["1.7\n", ""])
    assert "output" not in with_outputs(page, ["", ""])


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("6 runs in 2 s\n", "6 runs in 13.5 min\n", True),
        ("6 runs in 2 s\n", "7 runs in 2 s\n", False),
        ("  t  regret\n1  0.123456\n", "t      regret\n1  0.1234561\n", True),
        ("regret 0.12\n", "regret -0.12\n", False),
        ("regret 0.12\n", "regret 0.13\n", False),
        ("1 a\n", "1 b\n", False),
        ("", "1\n", False),
    ],
)
def test_outputs_agree_but_for_durations_and_last_digits(shown: str, printed: str, same: bool) -> None:
    assert agree(shown, printed) is same


def test_commands_are_read_as_a_shell_reads_them() -> None:
    block = Block("sh", 'make x\ngpbandit run a \\\n  --out "b c"  # why\nsrun gpbandit page x\n', 1)
    assert commands(block) == [["run", "a", "--out", "b c"], ["page", "x"]]
