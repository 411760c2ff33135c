"""Excerpts below the results of the search, also in a site that is opened from disk.

Sphinx's own script fetches the pages that it has found, which browsers forbid between files. Here the words of all
pages are written to one script of the site, which the page of the search alone loads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_WORDS = "search_words.js"
_SCRIPT = "search_excerpts.js"  # beside the other static files


def sections(doctree: nodes.document) -> Iterator[tuple[list[str], str]]:
    """Anchors and words of every section and of every documented object, without those of the ones within."""
    inside = nodes.section | addnodes.desc
    for part in (doctree, *doctree.findall(lambda node: isinstance(node, inside))):
        anchors = [] if part is doctree else list(part.get("ids", ()))
        words = []
        for child in part.children:
            if isinstance(child, nodes.target | addnodes.desc_signature):
                anchors += child["ids"]
            if not isinstance(child, inside | nodes.title):
                words.append(_words(child, inside))
        text = " ".join(" ".join(words).split())
        if text:
            yield anchors, text


def _words(node: nodes.Node, inside: UnionType) -> str:
    """The words of a node that are not of a part within it."""
    if isinstance(node, nodes.TextElement) or not node.children:
        return node.astext()
    return " ".join(_words(child, inside) for child in node.children if not isinstance(child, inside))


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the words of all pages."""
    if error is None and app.builder.name == "html":
        words = {name: list(sections(app.env.get_doctree(name))) for name in sorted(app.env.all_docs)}
        text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "_static" / _WORDS).write_text(f"window.searchWords = {text};\n", encoding="utf-8")


def load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Have the page of the search load both scripts."""
    if pagename == "search":
        app.add_js_file(_WORDS)
        app.add_js_file(_SCRIPT)


def setup(app: Sphinx) -> dict[str, Any]:
    """Excerpts instead of Sphinx's summaries."""
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
