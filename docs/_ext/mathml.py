"""Formulas as MathML, which browsers draw themselves: no script, no font and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)


def _mathml(node: nodes.Element, as_block: bool) -> str:
    tex = node.astext()
    try:
        return str(latex2mathml.tex2mathml(tex, as_block=as_block))
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
