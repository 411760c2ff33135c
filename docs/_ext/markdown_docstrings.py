"""Docstrings are written as Markdown with Google sections; autodoc wants reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_OUTSIDE = re.compile(r"([*|\\]|_(?=\W|$))")
_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*\Z)")  # a bar outside of code
_RULE = re.compile(r"\|[-:| ]+\|\s*\Z")
_BEFORE_NAPOLEON = 400


def _escaped(text: str) -> str:
    """One paragraph: code as literals, everything else without accidental markup."""
    parts = _CODE.split(text)
    parts[0::2] = [_OUTSIDE.sub(r"\\\1", part) for part in parts[0::2]]
    # A literal that touches a word needs an escaped space beside it.
    for i in range(1, len(parts), 2):
        before = "" if not parts[i - 1] or parts[i - 1][-1] in " \n([-/'\"" else "\\ "
        after = "" if not parts[i + 1] or parts[i + 1][0] in " \n)]-/'\".,:;!?" else "\\ "
        parts[i] = f"{before}``{parts[i]}``{after}"
    return "".join(parts)


def _table(rows: list[str], indent: str) -> Iterator[str]:
    """A Markdown table as a list table."""
    yield ""
    yield f"{indent}.. list-table::"
    yield f"{indent}   :header-rows: 1"
    yield ""
    for row in rows:
        if _RULE.match(row.strip()):
            continue
        cells = _BAR.split(row.strip().removeprefix("|").removesuffix("|"))
        for i, cell in enumerate(cells):
            yield f"{indent}   {'*' if i == 0 else ' '} - {_escaped(cell.strip())}".rstrip()
    yield ""


def to_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText; sections are left for napoleon."""
    out: list[str] = []
    paragraph: list[str] = []

    def flush() -> None:
        if paragraph:
            out.extend(_escaped("\n".join(paragraph)).split("\n"))
            paragraph.clear()

    i, code = 0, False
    while i < len(lines):
        line = lines[i]
        indent, words = line[: len(line) - len(line.lstrip())], line.strip()
        if words.startswith("|") and i + 1 < len(lines) and _RULE.match(lines[i + 1].strip()):
            flush()
            end = i
            while end < len(lines) and lines[end].strip().startswith("|"):
                end += 1
            out.extend(_table(lines[i:end], indent))
            i = end
            continue
        literal = len(indent) >= 4 and (code or (not paragraph and _after_paragraph(out)))
        if words and literal:
            # A block indented by four under a paragraph is code.
            if not code:
                out.extend([f"{indent[4:]}::", ""])
            out.append(line)
            code = True
        elif words.startswith("#"):
            flush()
            out.extend(["", f"{indent}.. rubric:: {words.lstrip('# ')}", ""])
            code = False
        elif words:
            if re.match(r"[-*] |\d+\. ", words) and paragraph and not re.match(r"\s*([-*] |\d+\. )", paragraph[0]):
                flush()
                out.append("")
            paragraph.append(line)
            code = False
        else:
            flush()
            out.append("")
        i += 1
    flush()
    return out


def _after_paragraph(out: list[str]) -> bool:
    """Whether the last thing written is a paragraph of prose followed by a blank line."""
    if len(out) < 2 or out[-1]:
        return False
    last = next((line for line in reversed(out) if line), "")
    return bool(last) and not last.startswith(" ") and not last.lstrip().startswith(("..", "-", "*"))


def _convert(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = to_rst(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Convert before napoleon looks for sections."""
    app.connect("autodoc-process-docstring", _convert, priority=_BEFORE_NAPOLEON)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
