"""The fenced blocks of a Markdown page, what is to be done with each, and what they say when it is done.

| info of the fence | what is done with the block |
|---|---|
| `python` | executed, in one namespace a page |
| `sh` | its `gpbandit` commands are given, one after the other; other commands are only read |
| `LANGUAGE file=NAME` | written to the file `NAME` of the page's folder |
| `LANGUAGE no-run: REASON` | not executed, as the site says; commands must exist, Python must compile |
| `text output` | what the block before it prints to standard output; written by `docs/outputs.py` |
"""

from __future__ import annotations

import io
import math
import re
import shlex
import sys
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import leaderboards.cli

_FENCE = re.compile(r"^```(?P<language>[a-z]+)(?:[ ]+(?P<info>[^\n]+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_DURATION = re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min|h)\b")
_TOLERANCE = 0.01  # relative; another CPU may round the digits that are shown to their neighbours
_FOLDER = "/home/you"  # stands for the folder in which a page is run


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        language: First word of the info.
        text: What stands in the block.
        line: Line of its first line in the page, from 1.
        file: Name of the file that it is; "" for none.
        not_run: Why it is not executed; "" if it is.
        output: What the page says that it prints; "" for nothing.
    """

    language: str
    text: str
    line: int
    file: str = ""
    not_run: str = ""
    output: str = ""

    @property
    def is_run(self) -> bool:
        """Whether it is executed."""
        return self.language in ("python", "sh") and not self.file and not self.not_run


def blocks(page: Path) -> list[Block]:
    """All blocks of a page that name a language, each with its output.

    Raises:
        ValueError: if an info says something unknown, or an output follows no block that is executed.
    """
    return [block for block, _, _ in _blocks(page.read_text(encoding="utf-8"), page.name)]


def _blocks(text: str, name: str) -> list[tuple[Block, int, int]]:
    """Blocks, each with the end of its fence and the end of its output's: the same if it has none."""
    found: list[tuple[Block, int, int]] = []
    for match in _FENCE.finditer(text):
        info = (match["info"] or "").strip()
        line = text.count("\n", 0, match.start("text")) + 1
        if info == "output":
            block, end, _ = found[-1] if found else (None, 0, 0)
            if block is None or not block.is_run or text[end : match.start()].strip():
                raise ValueError(f"{name}, line {line}: expected an output right after a block that is executed")
            found[-1] = (Block(block.language, block.text, block.line, output=match["text"]), end, match.end())
            continue
        file = info.removeprefix("file=") if info.startswith("file=") else ""
        not_run = info.removeprefix("no-run:").strip() if info.startswith("no-run:") else ""
        if info and not file and not not_run:
            raise ValueError(f"{name}, line {line}: expected file=NAME, output or 'no-run: REASON', got {info!r}")
        found.append((Block(match["language"], match["text"], line, file, not_run), match.end(), match.end()))
    return found


def commands(block: Block) -> list[list[str]]:
    """The `gpbandit` commands of a shell block, each as its words after `gpbandit`."""
    lines = block.text.replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines if re.match(r"(srun )?gpbandit ", line)]
    return [words[words.index("gpbandit") + 1 :] for words in found]


def run(page: Path) -> Iterator[tuple[Block, str]]:
    """Do with every block of `page` what is to be done, in the current folder; yields it with what it printed.

    The page's Python becomes the module `a_page_of_the_docs`, where dataclasses look for their annotations.

    Raises:
        Exception: whatever the code of the page raises.
        RuntimeError: if a command fails.
    """
    folder, module = Path.cwd(), types.ModuleType("a_page_of_the_docs")
    sys.modules[module.__name__] = module
    for block in blocks(page):
        printed = io.StringIO()
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            # Line numbers of tracebacks are those of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            if block.is_run:
                with redirect_stdout(printed):
                    exec(code, vars(module))
        elif block.language == "sh" and block.is_run:
            for words in commands(block):
                with redirect_stdout(printed):
                    _give(words, f"{page.name}, line {block.line}")
        lines = [line.rstrip() for line in printed.getvalue().replace(str(folder), _FOLDER).splitlines()]
        yield block, "".join(f"{line}\n" for line in lines).strip("\n") + "\n" * any(lines)


def _give(words: list[str], where: str) -> None:
    """Give a `gpbandit` command, in this process."""
    if words[0] == "run" and "--executor" not in words:
        words = [*words, "--executor", "serial"]  # all executors give the same traces; this one starts at once
    if words[0] in ("verify", "audit"):
        words = [*words, "--workers", "1"]
    try:
        leaderboards.cli.main(words)
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"{where}: gpbandit {' '.join(words)} ended with {ended.code}") from None


def agree(shown: str, printed: str) -> bool:
    """Whether two outputs say the same, but for durations, the width of columns and the last digits of numbers."""
    return _same_text(shown) == _same_text(printed) and all(
        math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=1e-9) for a, b in zip(*map(_numbers, (shown, printed)))
    )


def _same_text(output: str) -> list[str]:
    return _NUMBER.sub("0", _DURATION.sub("0 s", output)).replace("-", " ").split()


def _numbers(output: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(_DURATION.sub("0 s", output))]


def with_outputs(page: Path, printed: list[str]) -> str:
    """The text of `page` with what its blocks printed; what says the same as before stays as it is."""
    text = page.read_text(encoding="utf-8")
    for (block, end, after), new in reversed(list(zip(_blocks(text, page.name), printed, strict=True))):
        if not agree(block.output, new):
            text = text[:end] + (f"\n\n```text output\n{new}```" if new else "") + text[after:]
    return text


def pages(root: Path) -> list[Path]:
    """The pages with code: of the documentation, the README and the rules for contributors."""
    found = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in found if any(block.language in ("python", "sh") for block in blocks(page))]
