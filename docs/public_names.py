"""Writes `docs/api/names.txt`, what users may rely on: `python docs/public_names.py [--check]`.

A line a name: an importable name with its arguments or members, a registered id, or a command with its options. The
test of the fast tier fails when one of them disappears; a new one appears in the file with the next `make docs`.
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

MODULES = (
    "gpbandit_envs",
    "gpbandit_envs.adapters",
    "gpbandit_envs.datasets",
    "gpbandit_envs.envs.entry_point",
    "gpbandit_envs.envs.recipe",
    "gpbandit_envs.functions.base",
    "gpbandit_envs.gp",
    "gpbandit_envs.gp.exact",
    "gpbandit_envs.gp.regression",
    "gpbandit_envs.noise",
    "gpbandit_envs.problem",
    "gpbandit_envs.wrappers",
    "agents",
    "agents.core.box",
    "agents.core.fields",
    "agents.core.finite",
    "agents.core.regret_bounds",
    "agents.core.ucb",
    "agents.core.widths",
    "leaderboards",
    "leaderboards.audit.report",
    "leaderboards.score.metrics",
    "leaderboards.show.charts",
)
"""What the guides import from. Everything else may change in any version."""


def _arguments(thing: object) -> Iterator[str]:
    """Names of the arguments that a caller can give."""
    try:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
    for parameter in parameters:
        if not parameter.name.startswith("_") and parameter.kind.name not in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            yield parameter.name


def _commands(command: Any, path: str = "gpbandit") -> Iterator[str]:
    """Every command of the shell below one, with its arguments and options."""
    context = typer.Context(command)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield f"{path} {name}"
        yield from _commands(command.get_command(context, name), f"{path} {name}")
    for parameter in command.params:
        yield from (f"{path} {option}" for option in (*parameter.opts, *parameter.secondary_opts) if option != "--help")


def names() -> list[str]:
    """All lines, sorted within their kind."""
    lines = set()
    for module in MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            thing = getattr(found, name)
            lines.add(f"{module}.{name}")
            if callable(thing) and _owned(thing):  # what another library takes differs between its versions
                lines |= {f"{module}.{name}({argument}=)" for argument in _arguments(thing)}
            if isinstance(thing, type):
                members = (member for member in dir(thing) if not member.startswith("_"))
                own = (member for member in members if _is_ours(thing, member))
                lines |= {f"{module}.{name}.{member}" for member in own}
    ids = {f"environment {row.id}" for row in (*ENVIRONMENTS, TABLE)} | {f"agent {id}" for id in agents.registered()}
    return sorted(lines) + sorted(ids) + sorted(set(_commands(typer.main.get_command(app))))


def _is_ours(thing: type, member: str) -> bool:
    """Whether a member comes from a class of this project, not from a base of the standard library or Gymnasium."""
    owner = next((base for base in thing.__mro__ if member in vars(base)), None)
    return owner is not None and _owned(owner)


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
