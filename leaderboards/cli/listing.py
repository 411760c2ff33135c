"""`gpbandit list`.

Nothing of this project is imported for it but the table of environments: that takes a fraction of a second instead of
several. Plugins are imported.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import typer

from leaderboards.cli.errors import Commands

app = typer.Typer(
    cls=Commands,
    help="List environments, agents and suites.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def everything(context: typer.Context) -> None:
    """List environments, agents and suites."""
    if context.invoked_subcommand is None:
        for title, show in (("environments", envs), ("agents", list_agents), ("suites", suites)):
            typer.echo(f"{title}:")
            show()


@app.command("envs")
def envs() -> None:
    """List environments with their horizons."""
    _print(environment_rows())


@app.command("agents")
def list_agents() -> None:
    """List agents."""
    _print(agent_rows())


@app.command("suites")
def suites() -> None:
    """List suites with the number of their runs."""
    _print(suite_rows())


_Row = dict[str, Any]


def _print(rows: list[_Row]) -> None:
    for row in rows:
        size = f"(horizon {row['horizon']})" if "horizon" in row else f"({row['runs']} runs)" if "runs" in row else ""
        typer.echo("  " + "  ".join(filter(None, (row["id"], size, row.get("description", "")))))


def environment_rows() -> list[_Row]:
    """Every environment: its id and horizon."""
    from gpbandit_envs.registry import ENVIRONMENTS, TABLE

    rows: list[_Row] = [{"id": row.id, "horizon": row.horizon} for row in ENVIRONMENTS]
    rows.append({"id": TABLE.id, "horizon": TABLE.horizon, "description": "your own table, with file= and target="})
    if _plugins("gpbandit.envs"):
        import gymnasium as gym

        from leaderboards.play.build import load_plugins

        rows += [
            {"id": id, "horizon": gym.registry[id].max_episode_steps} for id in load_plugins() if id in gym.registry
        ]
    return rows


def agent_rows() -> list[_Row]:
    """Every agent: its id. Those of this project are read from the source, since importing a policy takes seconds."""
    spec = importlib.util.find_spec("agents")
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (table,) = [
        node for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_BUILT_IN"
    ]
    assert table.value is not None
    ids = list(ast.literal_eval(table.value))
    plugins = _plugins("gpbandit.agents")
    if plugins or "agents" in sys.modules:
        import agents

        if plugins:
            from leaderboards.play.build import load_plugins

            load_plugins()
        # Those of plugins, and of a script that calls the command line.
        ids += [id for id in agents.registered() if id not in ids]
    return [{"id": id} for id in ids]


def suite_rows() -> list[_Row]:
    """Every suite that comes with the package: its name, description and number of runs."""
    rows = []
    folder = resources.files("leaderboards") / "suites"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".toml"):
            continue
        suite = tomllib.loads(file.read_text(encoding="utf-8"))
        if "tasks" in suite:  # part of another
            whole = tomllib.loads(folder.joinpath(f"{suite['part_of']}.toml").read_text(encoding="utf-8"))
            runs = len(whole["agents"]) * len(suite["tasks"]) * suite["repetitions"]
            rows.append({"id": suite["name"], "runs": runs, "description": suite["description"]})
            continue
        repetitions = sum(entry.get("repetitions", suite["repetitions"]) for entry in suite["environments"])
        runs = len(suite["agents"]) * repetitions
        rows.append({"id": suite["name"], "runs": runs, "description": suite.get("description", "")})
    return rows


def _plugins(group: str) -> bool:
    """Whether another distribution has entry points in this group."""
    return bool(importlib.metadata.entry_points(group=group))
