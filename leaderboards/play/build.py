"""Build environments and agents from refs, and describe environments and agents as refs."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import gymnasium as gym

import agents
from agents import Agent, Capabilities
from agents.core.check import required_arguments
from agents.core.registry import load_entry_point
from gpbandit_envs.arguments import as_count, did_you_mean
from gpbandit_envs.code_digest import is_importable
from gpbandit_envs.registry import ENVIRONMENTS, OWN, TABLE
from leaderboards.play.spec import Ref, RunSpec

_OWN_AGENTS = "agents."  # begins the entry points of this project's agents
MADE = (gym.wrappers.PassiveEnvChecker, gym.wrappers.OrderEnforcing, gym.wrappers.TimeLimit)  # from the inside out

EnvLike = str | tuple[str, Mapping[str, Any]] | gym.Env[Any, Any] | Ref
"""An id, a pair of id and arguments, an environment, or the reference to one in a spec."""

AgentLike = str | type[Agent] | tuple[str | type[Agent], Mapping[str, Any]] | Agent | Ref
"""An id (or `"package.module:Class"`), a class of agents, an agent, a pair of id or class with its arguments, or the
reference to an agent in a spec."""


def describe_env(env: EnvLike) -> Ref:
    """The spec reference of an environment.

    Raises:
        TypeError: if it is neither id, pair nor environment.
    """
    if isinstance(env, Ref):
        return env
    if isinstance(env, gym.Env):
        if env.spec is None:
            kind = type(env.unwrapped)
            return Ref(f"object:{kind.__module__}:{kind.__qualname__}")
        return Ref(env.spec.id, env.spec.kwargs)
    return Ref(*_pair(env, "env", "an environment"))


def layers(env: gym.Env[Any, Any]) -> Iterator[gym.Wrapper[Any, Any, Any, Any]]:
    """The wrappers around an environment, from the outside in."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env


def check_as_made(argument: str, env: EnvLike) -> None:
    """Check that an environment, if an object is given, is what its reference builds again: nothing was put around it.

    Raises:
        TypeError: naming the argument and the wrappers beyond those of `gymnasium.make` and of the registration.
    """
    if not isinstance(env, gym.Env) or env.spec is None:
        return
    around = [type(layer) for layer in layers(env)][::-1]
    own = next((i for i, layer in enumerate(around) if layer in MADE), 0)  # those of the entry point itself
    registration = gym.registry.get(env.spec.id)
    registered = () if registration is None else registration.additional_wrappers[own:]
    rest = around[own:]
    for made in (*(f"{kind.__module__}:{kind.__name__}" for kind in MADE), *(each.entry_point for each in registered)):
        if rest and f"{rest[0].__module__}:{rest[0].__name__}" == made:
            del rest[0]
    if rest:
        raise TypeError(
            f"{argument}: expected an environment as gymnasium.make returns it, since its id and arguments build it "
            f"anew for each run, got one inside {', '.join(layer.__name__ for layer in rest)}: register with "
            "gymnasium.register what puts the wrapper around it, and give that id"
        )


def describe_agent(agent: AgentLike) -> Ref:
    """The spec reference of an agent.

    Raises:
        TypeError: if it is no agent, see `given_agent`.
    """
    if isinstance(agent, Ref):
        return agent
    given, kwargs = given_agent(agent)
    if isinstance(given, str):
        return Ref(given, kwargs)
    kind = given if isinstance(given, type) else type(given)
    return Ref(f"object:{kind.__module__}:{kind.__qualname__}")


def given_agent(agent: AgentLike) -> tuple[str | type[Agent] | Agent, Mapping[str, Any]]:
    """What plays, and its arguments: an id, which every class has that can be imported; another class; or an agent.

    Raises:
        TypeError: if it is neither id, class, pair nor agent, or a class lacks arguments that it needs.
    """
    given: Any = agent
    kwargs: Mapping[str, Any] = {}
    if isinstance(agent, Ref):
        return agent.id, agent.kwargs
    if isinstance(agent, tuple | list) and len(agent) == 2 and isinstance(agent[1], Mapping):
        given, kwargs = agent
    if isinstance(given, type) and issubclass(given, Agent):
        id = f"{given.__module__}:{given.__qualname__}" if is_importable(given) else None
        _check_arguments(given, id, kwargs)
        return id or given, kwargs
    if isinstance(given, str) or (isinstance(given, Agent) and not kwargs):
        return given, kwargs
    hint = ": give what it returns" if callable(agent) and not isinstance(agent, type) else ""
    raise TypeError(
        "agent: expected an id, an agents.Agent, a class of agents, or a pair of id or class with its arguments, got "
        f"{agent!r}{hint}"
    )


def pinned(ref: Ref) -> Ref:
    """The reference with all that its environment depends on, if that is one of the user's own; else as it is.

    A table is stated with the hash of its file and a function with its bounds, so that runs on edited ones are others.

    Raises:
        ValueError: for an unknown id.
        FileNotFoundError: if the file of a table is gone.
    """
    if ref.id != TABLE.id and not ref.id.rpartition(":")[2].startswith(f"{OWN}/"):
        return ref
    from gpbandit_envs import own  # here: it imports SciPy, which other ids need not

    env_spec(ref.id)  # imports the module that an id may begin with
    found = own.pinned(ref.id, to_plain_dict(ref.kwargs))
    if found is None:
        return ref
    return Ref(found.id, found.kwargs, found.name if ref.label == Ref(ref.id).label else ref.label)


def horizon_of(env: EnvLike, horizon: int | None) -> int:
    """The number of evaluations: `horizon`, or the environment's own time limit.

    Raises:
        ValueError: if neither is there, or `horizon` is no integer of at least 1, or longer than the limit that an
            environment object has.
    """
    if isinstance(env, gym.Env):
        limit = env.spec.max_episode_steps if env.spec is not None else None
        own = limit or getattr(getattr(env.unwrapped, "problem", None), "horizon", None)
    else:
        own = limit = env_spec(_pair(env, "env", "an environment")[0]).max_episode_steps
    if horizon is None:
        if own is None:
            raise ValueError("horizon: expected a number of evaluations, since the environment has no time limit")
        return int(own)
    horizon = as_count("horizon", horizon)
    if isinstance(env, gym.Env) and limit is not None and horizon > limit:
        raise ValueError(f"horizon: expected at most {limit}, the environment's time limit, got {horizon}")
    return horizon


def build_env(env: EnvLike, horizon: int) -> gym.Env[Any, Any]:
    """`env` itself, or the environment that is described, with `horizon` as its limit; its arguments may be objects.

    Raises:
        ValueError: for an unknown id or a bad value.
        TypeError: for an unknown keyword.
    """
    if isinstance(env, gym.Env):
        return env
    id, kwargs = _pair(env, "env", "an environment")
    # The passive checker is for development: it costs more than a step of a bandit.
    return gym.make(env_spec(id), max_episode_steps=horizon, disable_env_checker=True, **to_plain_dict(kwargs))


def build_agent(agent: AgentLike) -> Agent:
    """`agent` itself, or the one that is described; its arguments may be objects. It is cheap before `reset`.

    Raises:
        ValueError: for an unknown id or a bad value, or if the agent has other needs than its class states.
        TypeError: for an unknown keyword, or if what is built is no agent.
    """
    given, kwargs = given_agent(agent)
    if isinstance(given, Agent):
        return given
    if isinstance(given, type):
        return _as_stated(given, given, kwargs)
    if ":" not in given and not given.endswith(".py"):
        if given not in agents.registered() and Path(f"{given}.py").is_file():
            raise ValueError(f"agent: no agent {given!r}; a class in {given}.py is named '{given}:Class'")
        return _as_stated(agents.spec(given).load(), functools.partial(agents.make, given), kwargs)
    found = load_class(given)
    # A spec may come from a stranger's results, and must not be a way to call whatever can be imported.
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise TypeError(f"agent: expected {given!r} to be a subclass of agents.Agent, got {found!r}")
    _check_arguments(found, given, kwargs)
    return _as_stated(found, found, kwargs)


def _as_stated(stating: object, build: Callable[..., Agent], kwargs: Mapping[str, Any]) -> Agent:
    """The agent that `build` makes, if it has the needs that its class states: they tell its class of entrants.

    Raises:
        ValueError: if it has others.
    """
    stated = getattr(stating, "capabilities", None)  # now: what is built may change it
    agent = build(**to_plain_dict(kwargs))
    own: object = getattr(agent, "capabilities", None)
    if isinstance(stated, Capabilities) and isinstance(own, Capabilities) and own.needs != stated.needs:
        raise ValueError(
            f"capabilities: expected an agent of the needs {sorted(stated.needs)} that its class "
            f"{type(agent).__name__} states, got one of the needs {sorted(own.needs)}: state them on the class"
        )
    return agent


def _check_arguments(built: type[Agent], id: str | None, kwargs: Mapping[str, Any]) -> None:
    """Check that no argument without a default is left out; `id` is that of the class, if it has one.

    Raises:
        TypeError: if one is; it says how arguments are given.
    """
    missing = [name for name in required_arguments(built) if name not in kwargs]
    if not missing:
        return
    name, called = built.__name__, built.__name__ if id is None else repr(id)
    values = ", ".join(f"{one!r}: ..." for one in missing)
    raise TypeError(
        f"agent: {called} needs {', '.join(missing)}: give it a default in the class, or a value: in Python as a pair "
        f"({called}, {{{values}}}), or as an instance, {name}({', '.join(f'{one}=...' for one in missing)}); for "
        f"run_suite also under a label, {{'my label': ({called}, {{{values}}})}}; in a suite's file as "
        f"kwargs = {{ {', '.join(f'{one} = ...' for one in missing)} }}"
    )


def loaded_agent(id: str) -> object | None:
    """The class or factory of an agent, if looking it up imports nothing but this project; None otherwise.

    For pages and figures: ids come from results, which may be a stranger's, and their modules are not imported to show
    what they did. Known are the agents of this project and those of modules that this process has imported.
    """
    if id.startswith("object:"):
        return None
    try:
        entry_point = id if ":" in id else agents.spec(id).entry_point
    except ValueError:
        return None
    if not isinstance(entry_point, str):
        return entry_point
    module, _, attribute = entry_point.partition(":")
    if entry_point.startswith(_OWN_AGENTS) and ":" not in id:
        try:
            return load_entry_point(entry_point)
        except ImportError:  # an optional library is missing
            return None
    return vars(sys.modules[module]).get(attribute) if module in sys.modules else None


def is_own_env(id: str) -> bool:
    """Whether an environment is one of this project: building it imports nothing else."""
    return any(row.id == id for row in (*ENVIRONMENTS, TABLE))


def named_code(specs: Iterable[RunSpec]) -> list[str]:
    """Agents and environments of `specs` that are not of this project, sorted: playing the runs imports them.

    Objects that were given in Python are not among them, which are refused without an import.
    """
    specs = list(specs)
    agent_ids = {spec.agent.id for spec in specs if spec.agent.rebuildable}
    env_ids = {spec.env.id for spec in specs if spec.env.rebuildable}
    return sorted({id for id in agent_ids if not _is_own_agent(id)} | {id for id in env_ids if not is_own_env(id)})


def named_agents(specs: Iterable[RunSpec]) -> list[str]:
    """Agents of `specs` that are named `module:Class`, sorted: to say more of them than their runs do, import them."""
    return sorted({spec.agent.id for spec in specs if ":" in spec.agent.id and spec.agent.rebuildable})


def not_here(spec: RunSpec, code: Path | None = None) -> str | None:
    """Why this process cannot build the agent or the environment of `spec`; None if it may.

    For commands that are given away from the folder in which the runs were played. Nothing is imported: a module that
    is found may still fail, and then says so itself. Plugins are to be loaded before. Worker processes find modules in
    the folder `code` besides.
    """
    for kind, ref, known in (("agent", spec.agent, agents.registered()), ("environment", spec.env, gym.registry)):
        if not ref.rebuildable:
            continue  # an object of a Python session, which is refused as such
        module, colon, _ = ref.id.partition(":")
        if not colon and ref.id not in known:
            return f"{kind} {ref.id!r} is not registered here: install its distribution, or name it as 'module:...'"
        if colon and not is_findable(module, code):
            return (
                f"module {module!r} that defines {kind} {ref.id!r} is not importable here: give the command in the "
                "folder of the module, or put that on PYTHONPATH"
            )
    return None


def missing_extra(build: Callable[[], object]) -> str | None:
    """Which library that is not installed `build` asks for, as it says itself; None if it needs none.

    Raises:
        Exception: what else `build` raises.
    """
    try:
        build()
    except ImportError as error:
        return " ".join(str(error).split())
    return None


def is_findable(module: str, code: Path | None = None) -> bool:
    """Whether the import system, or the folder `code`, has the module; of a dotted name its first part.

    More than that would import the first part.
    """
    first = module.partition(".")[0]
    if code is not None and importlib.machinery.PathFinder.find_spec(first, [str(code)]) is not None:
        return True
    try:
        return module in sys.modules or importlib.util.find_spec(first) is not None
    except (ImportError, ValueError):  # a module without a spec, or no name of a module
        return first in sys.modules


def site_folders() -> list[str]:
    """The folders of this process's path that hold installed distributions."""
    return [path for path in sys.path if PurePath(path).name in ("site-packages", "dist-packages")]


def _is_own_agent(id: str) -> bool:
    try:
        entry_point = agents.spec(id).entry_point
    except ValueError:
        return False
    return isinstance(entry_point, str) and entry_point.startswith(_OWN_AGENTS)


def preload_modules(spec: RunSpec) -> None:
    """Import the modules of both sides of a run; import errors are reported by the run itself."""
    with contextlib.suppress(Exception):
        entry_point: Any = env_spec(spec.env.id).entry_point
        if isinstance(entry_point, str):
            gym.envs.registration.load_env_creator(entry_point)
    with contextlib.suppress(Exception):
        load_entry_point(spec.agent.id) if ":" in spec.agent.id else agents.spec(spec.agent.id).load()


def env_arguments(id: str) -> list[str] | None:
    """Names of the arguments of an environment; None if it takes any.

    Raises:
        ValueError: for an unknown id.
    """
    entry_point: Any = env_spec(id).entry_point
    if isinstance(entry_point, str):
        entry_point = gym.envs.registration.load_env_creator(entry_point)
    parameters = inspect.signature(entry_point).parameters if callable(entry_point) else {}
    split = getattr(entry_point, "parameters", None)
    if split is not None:
        from gpbandit_envs.envs.entry_point import COMMON_ARGUMENTS

        return [*split, *COMMON_ARGUMENTS]
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    return [name for name in parameters if name != "self"]


def check_env_ref(ref: Ref) -> None:
    """Find wrong ids and keywords without building the environment, which may need its data.

    Raises:
        ValueError: for an unknown id.
        TypeError: for an unknown keyword.
    """
    known = env_arguments(ref.id)
    if known is None:
        return
    for name in ref.kwargs:
        if name not in known:
            raise TypeError(f"{ref.id}: unknown argument {name!r}; it takes {', '.join(known) or 'none'}")


def _pair(thing: Any, name: str, kind: str) -> tuple[str, Mapping[str, Any]]:
    if isinstance(thing, str):
        return thing, {}
    if isinstance(thing, Ref):
        return thing.id, thing.kwargs
    if isinstance(thing, tuple | list) and len(thing) == 2:
        id, kwargs = thing
        if isinstance(id, str) and isinstance(kwargs, Mapping):
            return id, kwargs
    hint = ""
    if isinstance(thing, type):
        hint = f": give an instance of the class, {thing.__name__}(...)"
    elif callable(thing):
        hint = ": give what it returns"
    raise TypeError(f"{name}: expected an id, an (id, kwargs) pair or {kind}, got {thing!r}{hint}")


def load_class(id: str) -> object:
    """The class named by `"package.module:Class"` names.

    Raises:
        ValueError: if there is no such thing.
        ImportError: if the module is there and cannot be imported.
    """
    module, _, attribute = id.partition(":")
    if module.endswith(".py") or "/" in module:
        dotted = ".".join(part for part in PurePath(module.removesuffix(".py")).parts if part not in ("/", ".", ".."))
        raise ValueError(
            f"agent: expected 'module:Class', got the file {id!r}: write '{dotted}:{attribute or 'Class'}'"
        )
    try:
        return load_entry_point(id)
    except ValueError:
        known = vars(sys.modules[module]) if module in sys.modules and attribute else {}
        classes = {name: value for name, value in known.items() if isinstance(value, type) and issubclass(value, Agent)}
        there = [name for name, value in classes.items() if value.__module__ == module]  # and not imported there
        if not there:
            raise
        hint = did_you_mean(attribute, there, f"its agents are {', '.join(there)}")
        raise ValueError(f"agent: module {module!r} has no attribute {attribute!r}; {hint}") from None
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise  # the module is there, and imports another that is not
        raise ValueError(
            f"agent: {id!r} names a module that is neither in this folder nor installed ({error})"
        ) from None


def env_spec(id: str) -> gym.envs.registration.EnvSpec:
    """The registration of the environment `id`; as in `gymnasium.make`, `"module:id"` imports the module first.

    Raises:
        ValueError: if there is none, with ids that are close.
    """
    module, colon, name = id.partition(":")
    if colon:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(f"env: {id!r} names a module that cannot be imported: {error}") from None
    try:
        return gym.spec(name if colon else id)
    except (gym.error.Error, ModuleNotFoundError) as error:
        short = {known.rpartition("/")[2]: known for known in gym.registry}  # without the namespace
        hint = did_you_mean(id, gym.registry, "see `gpbandit list envs`", aliases=short, n=2, cutoff=0.7)
        raise ValueError(f"env: no environment {id!r}; {hint} ({type(error).__name__})") from None


def to_plain_dict(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy with plain dictionaries, which a constructor may keep and change."""
    return {name: to_plain_dict(value) if isinstance(value, Mapping) else value for name, value in kwargs.items()}


# ---- plugins ----


_log = logging.getLogger("gpbandit")
_HORIZON = 1000


@functools.cache
def load_plugins() -> tuple[str, ...]:
    """Register the plugins of all installed distributions; returns their ids and logs those that fail to load.

    They are found through the entry-point groups `gpbandit.agents` and `gpbandit.envs`, as `"My-UCB" =
    "my_package.my_module:MyUCB"`. The time limit of an environment is the attribute `max_episode_steps` of what is
    named, and 1000 without it. Importing `agents` or `gpbandit_envs` never loads any.
    """
    found = []
    for point in importlib.metadata.entry_points(group="gpbandit.agents"):
        try:
            agents.register(point.name, point.value)
        except ValueError as error:
            _log.warning("agent plugin %s = %s is left out: %s", point.name, point.value, error)
            continue
        found.append(point.name)
    for point in importlib.metadata.entry_points(group="gpbandit.envs"):
        try:
            if point.name in gym.registry:
                raise ValueError(f"an environment {point.name!r} is already registered")
            # Loaded now for its time limit: a class that cannot be imported is no environment.
            limit = getattr(point.load(), "max_episode_steps", _HORIZON)
            gym.register(point.name, entry_point=point.value, max_episode_steps=limit)
        except Exception as error:  # whatever a stranger's module raises on import must not stop the others
            _log.warning("environment plugin %s = %s is left out: %s", point.name, point.value, error)
            continue
        found.append(point.name)
    return tuple(found)
