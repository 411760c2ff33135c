"""`gpbandit list`.

What comes with the project is listed from its sources, without importing a policy or building a suite: that takes a
fraction of a second instead of several. Plugins are imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from leaderboards.cli.commands import Commands
from leaderboards.cli.errors import UserError
from leaderboards.cli.terminal import say_json

__all__ = [
    "agent_rows",
    "app",
    "complete_agent",
    "complete_anything",
    "complete_suite",
    "environment_rows",
    "suite_rows",
]

app = typer.Typer(
    cls=Commands,
    help="List environments, agents and suites.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


_JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def everything(context: typer.Context, as_json: _JSON = False) -> None:
    """List environments, agents and suites."""
    if context.invoked_subcommand is not None:
        if as_json:
            raise UserError(f"--json: expected after the command, gpbandit list {context.invoked_subcommand} --json")
        return
    found = {"environments": environment_rows(), "agents": agent_rows(), "suites": suite_rows()}
    if as_json:
        say_json(found)
        return
    for title, rows in found.items():
        typer.echo(f"{title}:")
        _print(rows, False)


@app.command("envs")
def envs(as_json: _JSON = False) -> None:
    """List environments with their time limits."""
    _print(environment_rows(), as_json)


@app.command("agents")
def list_agents(as_json: _JSON = False) -> None:
    """List agents with the kind of batches they play."""
    _print(agent_rows(), as_json)


@app.command("suites")
def suites(as_json: _JSON = False) -> None:
    """List suites with the number of their runs."""
    _print(suite_rows(), as_json)


_Row = dict[str, Any]


def _print(rows: list[_Row], as_json: bool) -> None:
    if as_json:
        say_json(rows)
        return
    for row in rows:
        if "horizon" in row:
            brackets, note = f"(horizon {row['horizon']})", row.get("note", "")
        elif "runs" in row:
            brackets, note = f"({row['runs']} runs)", row["description"]
        else:
            note, brackets = "", f"({row['error']})" if "error" in row else f"({row['batch']})" if row["batch"] else ""
        typer.echo(f"  {'  '.join(filter(None, (row['id'], brackets, note)))}")


def environment_rows() -> list[_Row]:
    """Every environment: its id and time limit."""
    from gpbandit_envs.registry import ENVIRONMENTS, TABLE

    rows: list[_Row] = [{"id": row.id, "horizon": row.horizon} for row in ENVIRONMENTS]
    rows.append({"id": TABLE.id, "horizon": TABLE.horizon, "note": "your own table, with file= and target="})
    if _plugins("gpbandit.envs"):
        import gymnasium as gym

        from leaderboards.play.plugins import load_plugins

        rows += [
            {"id": id, "horizon": gym.registry[id].max_episode_steps} for id in load_plugins() if id in gym.registry
        ]
    return rows


def agent_rows() -> list[_Row]:
    """Every agent: its id and its kind of batches, or why it cannot be imported."""
    built_in = _literal("agents", "_BUILT_IN")
    rows: list[_Row] = []
    for id, (entry_point, _) in built_in.items():
        batch = _batch_in_source(*entry_point.split(":"))
        rows.append({"id": id, "batch": batch} if batch else _imported(id))
    plugins = _plugins("gpbandit.agents")
    if not plugins and "agents" not in sys.modules:
        return rows
    import agents

    if plugins:
        from leaderboards.play.plugins import load_plugins

        load_plugins()
    # Those of plugins, and of a script that calls the command line.
    return [*rows, *(_imported(id) for id in agents.registered() if id not in built_in)]


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


def complete_suite(incomplete: str) -> list[str]:
    """Names of suites, and TOML files of the folder, as a shell may complete them."""
    return _begun(
        [*(row["id"] for row in suite_rows()), *(path.name for path in sorted(Path().glob("*.toml")))], incomplete
    )


def complete_agent(incomplete: str) -> list[str]:
    """Ids of agents, likewise."""
    return _begun([row["id"] for row in agent_rows()], incomplete)


def complete_anything(incomplete: str) -> list[str]:
    """What `gpbandit show` describes, likewise: ids of environments and agents, names of suites."""
    envs = _begun([row["id"] for row in environment_rows()], incomplete)
    return [*envs, *complete_agent(incomplete), *complete_suite(incomplete)]


def _begun(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _plugins(group: str) -> bool:
    """Whether another distribution has entry points in this group."""
    return bool(importlib.metadata.entry_points(group=group))


def _imported(id: str) -> _Row:
    """The row of a registered agent that has to be imported; with the error, if its module fails."""
    import agents

    try:
        capabilities = getattr(agents.spec(id).load(), "capabilities", None)
    except Exception as error:  # a stranger's module may raise anything, and the list goes on
        return {"id": id, "batch": "", "error": f"cannot be imported: {type(error).__name__}: {error}"}
    return {"id": id, "batch": capabilities.batch if capabilities is not None else ""}


def _batch_in_source(module: str, name: str) -> str:
    """The kind of batches in the class `name` of `module` or in the first base that states one; "" if none does."""
    tree = _tree(module)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _batch_in_source(node.module, name) if node.module.partition(".")[0] == "agents" else ""
        if isinstance(node, ast.ClassDef) and node.name == name:
            stated = _value(node.body, "capabilities")
            if isinstance(stated, ast.Name):
                stated = _value(tree.body, stated.id)
            if isinstance(stated, ast.Call):
                batch = {keyword.arg: keyword.value for keyword in stated.keywords}.get("batch")
                return str(ast.literal_eval(batch)) if batch is not None else ""
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            return next(filter(None, (_batch_in_source(module, base) for base in bases)), "")
    return ""


def _literal(module: str, name: str) -> Any:
    """The value of the literal that `module` assigns to `name`."""
    value = _value(_tree(module).body, name)
    if value is None:
        raise LookupError(f"{module} assigns nothing to {name}")
    return ast.literal_eval(value)


def _value(body: list[ast.stmt], name: str) -> ast.expr | None:
    """What is assigned to `name` in a module or class."""
    for node in body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value
    return None


@functools.cache
def _tree(module: str) -> ast.Module:
    """The parsed source of a module, found without importing its package."""
    package, *rest = module.split(".")
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent.joinpath(*rest)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))
