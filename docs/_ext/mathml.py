"""Formulas as MathML, which browsers draw themselves: no script, no font and no network."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_SPACE = "http://www.w3.org/1998/Math/MathML"
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot);)[A-Za-z]+;")  # HTML knows their names, XML does not
_log = logging.getLogger(__name__)


def _subscripted(markup: str) -> str:
    """The markup with the index of an accented letter beside it; docutils puts it below, as a limit."""
    ElementTree.register_namespace("", _SPACE)
    root = ElementTree.fromstring(_ENTITY.sub(lambda entity: unescape(entity[0]), markup))
    for limits in root.iter(f"{{{_SPACE}}}munderover"):
        base, index, accent = limits
        if accent.tag == f"{{{_SPACE}}}mo" and accent.get("stretchy") == "false":
            letter = ElementTree.Element(f"{{{_SPACE}}}mover", accent="true")
            letter.extend([base, accent])
            limits.tag = f"{{{_SPACE}}}msub"
            limits[:] = [letter, index]
    return ElementTree.tostring(root, encoding="unicode")


def _mathml(node: nodes.Element, as_block: bool) -> str:
    tex = node.astext()
    try:
        return _subscripted(latex2mathml.tex2mathml(tex, as_block=as_block))
    except MathError as error:
        # A warning is an error of the build, so no reader ever meets raw TeX.
        _log.warning("math: %s in %r", error, tex, location=node)
        return f"<code>{tex}</code>"


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="math-block">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
