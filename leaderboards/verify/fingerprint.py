"""The fingerprint of an agent's code: a row of a board whose agent has changed since is told from one that has not.

It is a hash of the source of the agent's module and of all modules of this project that it imports, directly or through
others, but not those for the type checker alone; without comments, docstrings and blank lines. Imports come first,
sorted: where one stands decides how long a command takes to start, and no choice. A name that a package's `__init__`
only hands on counts as imported from where it is defined. Nothing is imported or run. Environments need none: a change
of a number that one of them returns is a new version of its id.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import json
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

import agents
from leaderboards.play.spec import Ref

PROJECT = ("agents", "gpbandit_envs", "leaderboards")
"""Names of the packages of this project."""

_LENGTH = 16
_PACKAGES = ("agents", "gpbandit_envs")
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")  # fields of statements that hold statements
_IMPORTERS = ("import_module", "__import__")
_TYPE_CHECKING = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
_NO_SOURCE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)
"""What reading and parsing a file raises that is no source of this Python, or is being edited."""
_ROOT = Path(agents.__file__).resolve().parents[1]


def fingerprint(agent: Ref) -> str | None:
    """The fingerprint of an agent of this project as it is installed; None for any other.

    Agents that differ only in their settings, which are part of a run's spec, have the same.
    """
    entry_point: object = agent.id
    kwargs: dict[str, object] = {}
    if ":" not in agent.id:
        try:
            found = agents.spec(agent.id)
        except ValueError:
            return None
        entry_point, kwargs = found.entry_point, dict(found.kwargs)
    if not isinstance(entry_point, str) or not entry_point.startswith("agents."):
        return None
    return _of_entry_point(entry_point, json.dumps(kwargs, sort_keys=True))


@functools.cache
def _of_entry_point(entry_point: str, kwargs: str) -> str | None:
    module, _, attribute = entry_point.partition(":")
    file = _file_of(module, _ROOT)
    if file is None:
        return None
    digest = hashlib.sha256(f"{attribute} {kwargs}".encode())
    for path in imported_files(file, _ROOT, _PACKAGES):
        digest.update(f"\n{path.relative_to(_ROOT).as_posix()}\n{_read(path)[0]}".encode())
    return digest.hexdigest()[:_LENGTH]


def imported_files(file: Path, root: Path, packages: tuple[str, ...] | None = None) -> list[Path]:
    """A source file and those below `root` that it imports, directly or through others; sorted.

    Of a file that does not parse none are known.

    Args:
        file: Where to begin.
        root: The folder in which modules are looked for.
        packages: Names of the packages to follow; None for all that are below `root`, as code of one's own may be, but
            those of this project, which are below it in a checkout. With `packages` their own `__init__`, which only
            gives names of their modules again, is left out; so it is not without.
    """
    found, waiting = {file}, [file]
    while waiting:
        for name in _imports(waiting.pop(), root):
            first = name.partition(".")[0]
            if first in PROJECT if packages is None else name in packages or first not in packages:
                continue
            path = _file_of(name, root)
            if path is not None and path not in found:
                found.add(path)
                waiting.append(path)
    return sorted(found)


def imported_names(path: Path) -> frozenset[str]:
    """The first parts of the modules that a file imports by their full names, when it runs; of no source none."""
    try:
        nodes = _read(path)[1]
    except _NO_SOURCE:
        return frozenset()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return frozenset(name.partition(".")[0] for name in names)


def module_root(module: str, file: Path) -> Path:
    """The folder below which `module` is found, given the file that it was loaded from."""
    return file.parents[module.count(".") + (file.name == "__init__.py")]


@functools.cache
def _read(path: Path) -> tuple[str, tuple[ast.Import | ast.ImportFrom, ...]]:
    """The source of a file without comments, docstrings and blank lines, imports in front; and the imports of a run."""
    text = _text(path)
    tree = ast.parse(text)
    return _plain(text, tree), (*_imports_in(tree, type_checker=False), *_called(text, tree))


def _called(text: str, tree: ast.Module) -> Iterator[ast.Import]:
    """Imports by a call that names the module, such as `importlib.import_module("sklearn")`."""
    for node in ast.walk(tree) if any(name in text for name in _IMPORTERS) else ():
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _IMPORTERS:
            name = getattr(node.args[0], "value", None) if node.args else None
            if isinstance(name, str) and not name.startswith("."):
                yield ast.Import([ast.alias(name)])


def _text(path: Path) -> str:
    """The text of a source file in the encoding that Python reads it in."""
    with tokenize.open(path) as file:
        return file.read()


def _plain(text: str, tree: ast.Module) -> str:
    lines = text.splitlines(keepends=True)
    imports = list(_imports_in(tree))
    spans = [*_comments(text), *_docstrings(text, tree), *(_span(node, lines) for node in imports)]
    for (first, start), (last, stop) in sorted(spans, reverse=True):
        if first == last:
            lines[first - 1] = lines[first - 1][:start] + lines[first - 1][stop:]
        else:
            lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][stop:]]
    imported = {f"{_from(node)}import {alias.name} as {alias.asname}" for node in imports for alias in node.names}
    return "\n".join([*sorted(imported), *(line.rstrip() for line in lines if line.strip())])


def _imports_in(tree: ast.Module, type_checker: bool = True) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in _statements(tree, type_checker):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _from(node: ast.Import | ast.ImportFrom) -> str:
    return f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""


_Span = tuple[tuple[int, int], tuple[int, int]]


def _span(node: ast.stmt | ast.expr, lines: Sequence[str]) -> _Span:
    """From the first character of a node to its last, as columns of `lines`; the tree counts bytes."""
    last = node.end_lineno or node.lineno
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    stop = len(lines[last - 1].encode()[: node.end_col_offset].decode())
    return (node.lineno, start), (last, stop)


def _comments(text: str) -> Iterator[_Span]:
    if "#" not in text:  # as in a third of the files; tokens take as long as all the rest
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end


def _docstrings(text: str, tree: ast.Module) -> Iterator[_Span]:
    lines = text.splitlines()
    for node in _statements(tree):
        for statement in getattr(node, "body", []):
            # Attributes have docstrings too, which are statements of their own.
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield _span(value, lines)


def _statements(node: ast.AST, type_checker: bool = True) -> Iterator[ast.AST]:
    """A module or statement and all those within it, handlers and cases included, but no expression.

    Args:
        node: Where to begin.
        type_checker: Whether what is executed for the type checker alone belongs to them.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        only = not type_checker and isinstance(node, ast.If) and ast.unparse(node.test) in _TYPE_CHECKING
        if not only:
            yield node
        for field in ("orelse",) if only else _BLOCKS:
            waiting += getattr(node, field, ())


@functools.cache
def _imports(path: Path, root: Path) -> tuple[str, ...]:
    """Names that a file imports, each with its packages, as far as they can be modules."""
    names: set[str] = set()
    file, folder = path.resolve(), root.resolve()
    own = file.relative_to(folder).with_suffix("").parts if file.is_relative_to(folder) else ()
    try:
        nodes = _read(path)[1]
    except _NO_SOURCE:
        return ()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        else:
            package = own[: len(own) - node.level] if node.level else ()
            base = ".".join([*package, *([node.module] if node.module else [])])
            for alias in node.names:
                names.update(_origins(base, alias.name, root))
    return tuple(sorted(name for name in names if name))


def _origins(base: str, name: str, root: Path) -> Iterator[str]:
    """The modules that `from base import name` may stand for."""
    seen = set()
    while (base, name) not in seen:
        seen.add((base, name))
        init = root.joinpath(*base.split("."), "__init__.py")
        if not init.is_file():
            yield base
            return
        if _file_of(f"{base}.{name}", root) is not None:
            yield f"{base}.{name}"
            return
        handed_on = _handed_on(init).get(name)
        if handed_on is None:
            yield base  # defined there
            return
        base, name = handed_on


@functools.cache
def _handed_on(init: Path) -> dict[str, tuple[str, str]]:
    """Names that an `__init__` imports from other modules: the module and the name there."""
    try:
        statements = ast.parse(_text(init)).body
    except _NO_SOURCE:
        return {}
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in statements
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level
        for alias in node.names
    }


@functools.cache
def _file_of(module: str, root: Path) -> Path | None:
    """The source file of a module below `root`, found by its name alone."""
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
