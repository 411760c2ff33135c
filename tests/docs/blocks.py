"""The fenced blocks of a Markdown page, and what is to be done with each.

| info of the fence | what is done with the block |
|---|---|
| `python` | executed, in one namespace a page |
| `sh` | its `gpbandit` commands are given, one after the other; other commands are only read |
| `LANGUAGE file=NAME` | written to the file `NAME` of the page's folder |
| `LANGUAGE no-run: REASON` | not executed, as the site says; commands must exist, Python must compile |
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "commands"]

_FENCE = re.compile(r"^```(?P<language>[a-z]+)(?:[ ]+(?P<info>[^\n]+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        language: First word of the info.
        text: What stands in the block.
        line: Line of its first line in the page, from 1.
        file: Name of the file that it is; "" for none.
        not_run: Why it is not executed; "" if it is.
    """

    language: str
    text: str
    line: int
    file: str = ""
    not_run: str = ""


def blocks(page: Path) -> list[Block]:
    """All blocks of a page that name a language.

    Raises:
        ValueError: if an info says something unknown.
    """
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        info = (match["info"] or "").strip()
        file = info.removeprefix("file=") if info.startswith("file=") else ""
        not_run = info.removeprefix("no-run:").strip() if info.startswith("no-run:") else ""
        line = text.count("\n", 0, match.start("text")) + 1
        if info and not file and not not_run:
            raise ValueError(f"{page.name}, line {line}: expected file=NAME or 'no-run: REASON', got {info!r}")
        found.append(Block(match["language"], match["text"], line, file, not_run))
    return found


def commands(block: Block) -> list[list[str]]:
    """The `gpbandit` commands of a shell block, each as its words after `gpbandit`."""
    lines = block.text.replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines if re.match(r"(srun )?gpbandit ", line)]
    return [words[words.index("gpbandit") + 1 :] for words in found]
