"""Writes `docs/api/names.txt`, what users may rely on: `python docs/public_names.py [--check]`.

A line is a name that one of `MODULES` exports, with its arguments and members; a registered id; or a command with its
options. The test of the fast tier fails when one of them disappears; a new one appears with the next `make docs`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import agents
from gpbandit_envs.registry import ENVIRONMENTS, TABLE
from leaderboards.cli.app import app

NAMES = Path(__file__).resolve().parent / "api" / "names.txt"

MODULES = ("gpbandit_envs", "gpbandit_envs.gp", "gpbandit_envs.wrappers", "agents", "agents.core", "leaderboards")
"""What is promised is what these export. Everything else may change in any version."""


def _arguments(thing: object) -> list[str]:
    """Names of the arguments that a caller can give."""
    try:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    kinds = ("VAR_POSITIONAL", "VAR_KEYWORD")
    return [each.name for each in parameters if not each.name.startswith("_") and each.kind.name not in kinds]


def _commands(command: Any, path: str = "gpbandit") -> Iterator[str]:
    """Every command of the shell below one, with its options."""
    context = typer.Context(command)
    names = command.list_commands(context) if hasattr(command, "list_commands") else ()
    if not names:
        options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} - {"--help"}
        yield " ".join([path, *sorted(option if option.startswith("-") else f"[{option}]" for option in options)])
    for name in names:
        yield from _commands(command.get_command(context, name), f"{path} {name}")


def names() -> list[str]:
    """All lines, sorted within their kind: a name, then its arguments and members."""
    lines = []
    for module in MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            thing = getattr(found, name)
            words = [f"{module}.{name}"]
            if callable(thing) and _owned(thing):  # what another library takes differs between its versions
                words += [f"{argument}=" for argument in _arguments(thing)]
            if isinstance(thing, type):
                words += sorted(f".{member}" for member in dir(thing) if _is_ours(thing, member))
            lines.append(" ".join(words))
    ids = {f"environment {row.id}" for row in (*ENVIRONMENTS, TABLE)} | {f"agent {id}" for id in agents.registered()}
    return sorted(lines) + sorted(ids) + sorted(_commands(typer.main.get_command(app)))


def gone(stated: list[str]) -> list[str]:
    """What lines state that is there no longer: names, and arguments, members or options of those that are."""
    there = {_head(line): set(line.split()) for line in names()}
    missing = [_head(line) for line in stated if _head(line) not in there]
    return missing + [
        f"{_head(line)}: {word}"
        for line in stated
        for word in line.split()
        if _head(line) in there and word not in there[_head(line)]
    ]


def _head(line: str) -> str:
    """The name that a line is about: all words of a command, the id with its kind, or the first word."""
    words = line.split()
    if words[0] == "gpbandit":
        return " ".join(word for word in words if not word.startswith(("-", "[")))
    return " ".join(words[:2]) if words[0] in ("environment", "agent") else words[0]


def _is_ours(thing: type, member: str) -> bool:
    """Whether a public member comes from a class of this project, not from a base of a library."""
    owner = next((base for base in thing.__mro__ if member in vars(base)), None)
    return not member.startswith("_") and owner is not None and _owned(owner)


def _owned(thing: object) -> bool:
    """Whether a class or function is of this project."""
    module = getattr(thing, "__module__", None) or ""
    return module.partition(".")[0] in ("gpbandit_envs", "agents", "leaderboards")


def main() -> int:
    """Write the file, or say whether it is current."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true")
    text = "\n".join(names()) + "\n"
    if parser.parse_args().check:
        current = NAMES.read_text(encoding="utf-8") == text
        if not current:
            sys.stderr.write(f"{NAMES.name} is not current: make docs\n")
        return 0 if current else 1
    NAMES.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
