"""`gpbandit show`: what is known of an environment, an agent or a suite without playing it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any

import gymnasium as gym
import typer

import agents
from gpbandit_envs import datasets
from gpbandit_envs.arguments import did_you_mean
from gpbandit_envs.registry import ENVIRONMENTS, TABLE, EnvironmentRow
from leaderboards.cli.errors import UserError, refusing
from leaderboards.cli.terminal import import_from_here, say
from leaderboards.play.build import env_arguments, load_plugins
from leaderboards.play.suite import HOLDOUT, SuiteError, load_suite, suite_names
from leaderboards.show.agent_card import describe_built

_KERNELS = {
    "true": "the true one is stated",
    "wrong": "a wrong one is stated, on purpose",
    "chosen": "one that was chosen for the data is stated",
    "none": "none is stated: policies that need one and do not learn it are skipped, unless they are given it",
}
_ADAPTERS = {"Optuna": "optuna", "BoTorch": "botorch"}


def show(
    id: Annotated[str, typer.Argument(help="Id of an environment or agent, name of a suite, or path of a TOML file.")],
) -> None:
    """Describe an environment, an agent or a suite: arguments, needs, reference."""
    if id.endswith(".toml"):
        import_from_here()
    load_plugins()
    rows = {row.id: row for row in (*ENVIRONMENTS, TABLE)}
    envs = [*rows, *(name for name in gym.registry if "/" in name and name not in rows)]
    if id in rows:
        facts = _environment(rows[id])
    elif id in envs:
        facts = _foreign(id)
    elif id in agents.registered():
        facts = _agent(id)
    elif id.removesuffix(f"/{HOLDOUT}") in suite_names() or id.endswith(".toml"):
        facts = _suite(id)
    else:
        short = {row.name: row.id for row in rows.values()}
        hint = did_you_mean(id, (*rows, *agents.registered(), *suite_names()), "see gpbandit list", aliases=short)
        raise UserError(f"no environment, agent or suite {id!r}; {hint}")
    for name, value in facts:
        say(f"{name + ':':<13}{value}")


def _environment(row: EnvironmentRow) -> Iterator[tuple[str, str]]:
    yield "environment", row.id
    yield "group", row.group
    yield "horizon", f"{row.horizon} evaluations"
    yield "actions", _actions(row)
    yield "kernel", _KERNELS[row.kernel]
    yield "arguments", ", ".join(env_arguments(row.id) or ()) or "none"
    if row.kwargs:
        yield "set to", _listed(row.kwargs)
    if row.data is not None:
        card = datasets.cards()[row.data]
        yield "data", f"{row.data}, {card.title} ({card.licence}); gpbandit data fetch {row.data}"
    if row.extra is not None:
        yield "needs", f"pip install 'gpbandit-envs[{row.extra}]'"
    for reference in row.references:
        yield "reference", reference


def _actions(row: EnvironmentRow) -> str:
    """The domain with default arguments; known without data or extras."""
    if row.dim is not None:
        return f"a box, dimension {row.dim}"
    if row.data is not None:
        n_arms, dim = datasets.cards()[row.data].shape
        return f"{row.n_arms} arms" if row.n_arms is not None else f"{n_arms} arms, dimension {dim}"
    if row.id == TABLE.id:
        return "one arm a row of the table"
    with closing(gym.make(row.id)) as env:
        problem: Any = env.unwrapped.problem  # type: ignore[attr-defined]
        size = f"{problem.n_arms} arms" if problem.is_finite else "a box"
        return f"{size}, dimension {problem.dim}"


def _foreign(id: str) -> Iterator[tuple[str, str]]:
    spec, arguments = gym.spec(id), env_arguments(id)
    yield "environment", f"{id}, of another distribution"
    yield "horizon", f"{spec.max_episode_steps} evaluations"
    yield "arguments", "any" if arguments is None else ", ".join(arguments) or "none"


def _agent(id: str) -> Iterator[tuple[str, str]]:
    spec = agents.spec(id)
    try:
        built = spec.load()
    except Exception as error:  # a stranger's module may raise anything
        raise UserError(f"agent {id!r} cannot be imported: {type(error).__name__}: {error}") from None
    card = describe_built(built, spec.kwargs)
    yield "agent", id
    yield "what", card.paragraphs[0] if card.paragraphs else "no description"
    if card.capabilities is not None:
        yield "plays", card.plays
        if card.capabilities.contexts:
            yield "contexts", "plays where each step offers only some of the arms"
        yield "batches", card.batches
        if card.capabilities.needs:
            yield "must know", ", ".join(sorted(card.capabilities.needs))
    yield "arguments", _signature(built)
    if spec.kwargs:
        yield "set to", _listed(spec.kwargs)
    extra = next((extra for name, extra in _ADAPTERS.items() if id.startswith(f"{name}-")), None)
    if extra is not None:
        yield "needs", f"pip install 'gpbandit-envs[{extra}]'"
    for reference in card.references:
        yield "reference", reference


def _suite(name: str) -> Iterator[tuple[str, str]]:
    with refusing(SuiteError):
        suite = load_suite(name)
    yield "suite", suite.name
    if suite.description:
        yield "what", suite.description
    for task in suite.tasks:
        yield "environment", f"{task.env.label}, horizon {task.horizon}, feedback {task.feedback.replace('_', ' ')}"
    for entry in suite.agents:
        yield "agent", entry.ref.label
    yield "runs", str(suite.n_runs)


def _signature(built: Any) -> str:
    parameters = [p for p in inspect.signature(built).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters) or "none"


def _listed(kwargs: Any) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
