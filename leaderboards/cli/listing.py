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

import typer

app = typer.Typer(
    help="List environments, agents and suites.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def everything(context: typer.Context) -> None:
    """List environments, agents and suites."""
    if context.invoked_subcommand is None:
        for title, show in (("environments", environments), ("agents", agents), ("suites", suites)):
            typer.echo(f"{title}:")
            show()


def _say(*words: str) -> None:
    typer.echo("  " + "  ".join(filter(None, words)))


@app.command("envs")
def environments() -> None:
    """List environments with their horizons, and whether they state a kernel."""
    from gpbandit_envs.registry import ENVIRONMENTS, TABLE

    for row in ENVIRONMENTS:
        _say(row.id, f"(horizon {row.horizon}, {row.states_kernel})")
    _say(TABLE.id, f"(horizon {TABLE.horizon}, {TABLE.states_kernel})", "your own table, with file= and target=")
    if _plugins("gpbandit.envs"):
        import gymnasium as gym

        from leaderboards.play.build import load_plugins

        for id in load_plugins():
            if id in gym.registry:
                _say(id, f"(horizon {gym.registry[id].max_episode_steps})")


@app.command("agents")
def agents() -> None:
    """List agents."""
    # Those of this project are read from the source, since importing a policy takes seconds.
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
        from agents import registered

        if plugins:
            from leaderboards.play.build import load_plugins

            load_plugins()
        # Those of plugins, and of a script that calls the command line.
        ids += [id for id in registered() if id not in ids]
    for id in ids:
        _say(id)


@app.command("suites")
def suites() -> None:
    """List suites with the number of their runs."""
    folder = resources.files("leaderboards") / "suites"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".toml"):
            continue
        suite = tomllib.loads(file.read_text(encoding="utf-8"))
        if "tasks" in suite:  # part of another
            whole = tomllib.loads(folder.joinpath(f"{suite['part_of']}.toml").read_text(encoding="utf-8"))
            agents = [*whole["agents"], *suite.get("agents", [])]
            runs = len(agents) * len(suite["tasks"]) * suite["repetitions"]
        else:
            repetitions = sum(entry.get("repetitions", suite["repetitions"]) for entry in suite["environments"])
            runs = len(suite["agents"]) * repetitions
        _say(suite["name"], f"({runs} runs)", suite.get("description", ""))


def _plugins(group: str) -> bool:
    """Whether another distribution has entry points in this group."""
    return bool(importlib.metadata.entry_points(group=group))
