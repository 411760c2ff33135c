"""The documentation site: `make site` builds it into build/site, warnings being errors, without any network."""

from __future__ import annotations

import gc
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

import gpbandit_envs

gc.set_threshold(200_000)  # a build makes trees and drops few of them: the collector was a seventh of its time

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "gpbandit-envs"
author = "the authors of gpbandit-envs"
project_copyright = f"{author}, MIT licence"
version = release = gpbandit_envs.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "markdown_docstrings",
    "mathml",
    "search_excerpts",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_*", "Thumbs.db", ".DS_Store"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# MathML is drawn by the browser itself: nothing to fetch, nothing to run, and it follows the text in light and dark.
html_math_renderer = "mathml"

toc_object_entries = False  # modules only: every method of every class would be copied into every page
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88
# Extras that a machine which builds the documentation need not have.
_EXTRAS = ("Box2D", "ax", "botorch", "distributed", "ioh", "optunahub", "torch", "xgboost")
autodoc_mock_imports = [name for name in _EXTRAS if find_spec(name) is None]
default_role = "literal"

html_theme = "furo"
html_title = "gpbandit-envs"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # Sphinx's fetches pages, which fails from disk: see search_excerpts
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#164c8d", "color-brand-content": "#164c8d"},
    "dark_css_variables": {"color-brand-primary": "#8fb0ee", "color-brand-content": "#8fb0ee"},
    "navigation_with_keys": True,
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

_ENVIRONMENTS_TREE = """
```{toctree}
:hidden:
:glob:

*
```
"""
_TREE = re.compile(r"^```{toctree}\n.*?^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)
_NOT_RUN = re.compile(r"^(```\w+) no-run: ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


_OUTPUT = re.compile(r"^```text output\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prepare(app: Sphinx, docname: str, source: list[str]) -> None:
    """What the site needs and a page read elsewhere does not."""
    text = source[0]
    if docname == "environments/README":
        # The page is generated, and read on code hosts as well, where a tree would be noise.
        text += _ENVIRONMENTS_TREE
    if docname == "benchmarks":
        measured = ROOT / "benchmarks" / "README.md"
        if measured.exists():
            # Its pictures and the code it speaks of lie beside it.
            text = re.sub(r"\]\((?=[^)]*\.(?:png|py)\))", "](../benchmarks/", measured.read_text(encoding="utf-8"))
    if docname == "reproduce" and not any((DOCS / "papers").glob("*.md")):
        text = _TREE.sub("This copy has none of their pages: `gpbandit reproduce` makes them.", text)
    text = _FILE.sub(r"```{code-block} \1\n:caption: \2\n", text)
    text = _OUTPUT.sub(r"```{code-block} text\n:class: output\n\n\1```", text)
    # A block that the tests do not run says so, and why, where it stands.
    source[0] = _NOT_RUN.sub(r"\1\n\3```\n\n{.not-run}\nNot run by the tests: \2.\n", text)


def setup(app: Sphinx) -> None:
    """Register the hook."""
    app.connect("source-read", prepare)
