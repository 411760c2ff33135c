"""One page of API for each package, made from what is there: a new module documents itself.

A page for every module would be over two hundred, and the theme draws the whole tree into each of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.nodes import find_pending_xref_condition

ROOTS = ("gpbandit_envs", "agents", "leaderboards")


def packages(name: str) -> Iterator[tuple[str, list[str]]]:
    """Every package at or below `name`, with its public modules."""
    found = importlib.import_module(name)
    modules, below = [], []
    for info in sorted(pkgutil.iter_modules(found.__path__), key=lambda info: info.name):
        if not info.name.startswith("_"):
            (below if info.ispkg else modules).append(f"{name}.{info.name}")
    yield name, modules
    for package in below:
        yield from packages(package)


def public_names(package: str) -> list[str]:
    """The functions and classes that users import from `package` itself; members of classes are on their own pages."""
    found = importlib.import_module(package)
    lines = []
    for name in getattr(found, "__all__", ()):
        thing = getattr(found, name)
        if isinstance(thing, type):
            lines += [f".. autoclass:: {package}.{name}", ""]
        elif callable(thing):
            lines += [f".. autofunction:: {package}.{name}", ""]
    return lines


def page(package: str, modules: list[str]) -> str:
    """The text of a package's page; of one of `ROOTS` it begins with what users import from it."""
    lines = [package, "=" * len(package), "", f".. automodule:: {package}", ""]
    if package in ROOTS:
        lines += public_names(package)
    for module in modules:
        title = module.removeprefix(f"{package}.")
        lines += [title, "-" * len(title), "", f"``{module}``", "", f".. automodule:: {module}", "   :members:"]
        lines += ["   :show-inheritance:", "   :member-order: bysource", ""]
    return "\n".join(lines) + "\n"


def write(app: Sphinx) -> None:
    """Write the pages that are new or differ, and remove those of packages that are gone."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    new = {f"{name}.rst": page(name, modules) for root in ROOTS for name, modules in packages(root)}
    for name, text in new.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.name not in new:
            path.unlink()


def unlink_strangers(app: Sphinx, doctree: nodes.document) -> None:
    """Types of other libraries are no links: nothing is fetched to link to, and looking for them takes a while."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("refdomain") == "py" and node["reftarget"].partition(".")[0] not in ROOTS:
            shown = find_pending_xref_condition(node, "resolved")
            node.replace_self(node.children if shown is None else shown.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before sources are looked for."""
    app.connect("builder-inited", write)
    app.connect("doctree-read", unlink_strangers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
