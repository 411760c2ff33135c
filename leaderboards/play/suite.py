"""Suites: which agents play which environments, how often and for how long; TOML files checked by a schema."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import tomllib
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from gpbandit_envs.arguments import MANY, did_you_mean, shown
from gpbandit_envs.channels import as_channel
from gpbandit_envs.datasets import DataError, asked_once
from leaderboards.play.build import build_agent, build_env, check_env_ref, pinned
from leaderboards.play.measures import IN_UNITS, RANKED_BY
from leaderboards.play.record import Text, data_reason
from leaderboards.play.spec import MOST_RUNS, OF_NO_FUNCTION, Ref, RunSpec, describe, keyed, task_key

HOLDOUT = "holdout"
_SUITES = Path(str(resources.files("leaderboards") / "suites"))
_MOST_LEVELS = 10_000  # a stranger may write a short file of many; each takes some 0.1 ms
_LONGEST = 100  # characters of a name; folders of 255 bytes have it with what is added
_LATER = ("tuned", "members", "kernels", "half", "headline", "grid")


def _is_number(value: object) -> object:
    if isinstance(value, (bool, str)):
        raise ValueError(f"expected an integer, got {value!r}")
    return value


_Whole = BeforeValidator(_is_number)  # which pydantic takes words and truth values for
Count = Annotated[PositiveInt, Field(le=MANY), _Whole]
_Json = AfterValidator(describe)  # as in a spec
_Feedback = Annotated[str, AfterValidator(lambda text: as_channel(text).text)]


def _as_name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) and len(name) <= _LONGEST:
        return name
    plain = re.sub("[^A-Za-z0-9_-]+", "-", unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode())
    hint = f"; {plain.strip('-_')[:_LONGEST]!r} would do" if plain.strip("-_") else ""
    raise ValueError(
        f"expected at most {_LONGEST} letters of English, digits, '-' and '_', as it names a folder, got "
        f"{shown(name)}{hint}"
    )


def _twice(texts: Iterable[str]) -> list[str]:
    return [text for text, n in Counter(texts).items() if n > 1]


class SuiteError(ValueError):
    """A suite cannot be run as it is written; the text names the file, the key and what was expected."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Later keys are written only where they are given: the text of any other suite is what it was before them."""
        return {name: value for name, value in handler(self).items() if value or name not in _LATER}


class _Entry(_Strict):
    """An entry of a suite: a table with these keys, or an id, which is a table with that alone."""

    id: str
    kwargs: Annotated[dict[str, Any], _Json] = Field(default_factory=dict)
    label: str = ""

    @model_validator(mode="before")
    @classmethod
    def _table(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"id": value}
        if isinstance(value, Mapping | _Entry):
            return value
        raise ValueError(f"expected an id, or a table with {', '.join(cls.model_fields)}, got {value!r:.80}")

    @property
    def ref(self) -> Ref:
        """The entry as it stands in a spec."""
        return Ref(self.id, self.kwargs, self.label)

    @property
    def refs(self) -> tuple[Ref, ...]:
        """All that is built of the entry: itself, or its members."""
        return (self.ref,)


class AgentEntry(_Entry):
    """An agent of the suite, a row of the leaderboard.

    Attributes:
        id: Registered id, or `"package.module:Class"`.
        kwargs: Its settings.
        label: Name on the page; by default the id.
        tuned: What its settings were tuned on, in a sentence; "" if that is not declared.
    """

    tuned: Text = ""


class EnvironmentEntry(_Entry):
    """An environment of the suite, a column of the leaderboard.

    Attributes:
        id: Registered id.
        kwargs: Its settings.
        label: Name on the page; by default the id.
        horizon: Number of evaluations, instead of the suite's.
        repetitions: Number of repetitions, instead of the suite's.
        feedback: When feedback arrives, instead of the suite's.
        members: A family of environments that is one task: an argument of the environment, and the values from which
            each repetition has one, as `{"dataset": ["cifar10", "cifar100"]}`. The values take turns in a random order
            that belongs to the task and the root seed, so that each is played equally often but for one.
        kernels: Further settings of each member, by its value as text, such as the kernel that is stated. In a suite's
            file the name of a JSON file beside it, as that of core-v2 is.
        grid: Arguments, each with its levels, as `{"noise_std": [0.1, 1.0]}`: an environment for each combination. All
            levels of what no function depends on (`leaderboards.play.spec.OF_NO_FUNCTION`) have the same functions,
            noise variates and random numbers of agents. In a suite that is read it is of one level, with its value
            among the kwargs.
        half: `"tuning"` where defaults may be chosen on it, `"held out"` where they are judged; "" for neither.
    """

    horizon: Count | None = None
    repetitions: Count | None = None
    feedback: _Feedback | None = None
    members: dict[str, tuple[Annotated[Any, _Json], ...]] = Field(default_factory=dict)
    kernels: dict[str, Annotated[dict[str, Any], _Json]] = Field(default_factory=dict)
    half: Literal["", "tuning", "held out"] = ""
    grid: dict[str, tuple[Annotated[Any, _Json], ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _grid_of_levels(self) -> EnvironmentEntry:
        for argument, values in self.grid.items():
            if not values or _twice(map(json.dumps, values)):
                raise ValueError(
                    f"grid: expected one or more different values of {argument!r}, got {list(values)!r:.80}"
                )
            if argument in self.members:
                raise ValueError(f"grid: expected an argument that is not among members, got {argument!r}")
            if argument in self.kwargs and self.kwargs[argument] not in values:
                raise ValueError(f"grid: expected an argument that is not among kwargs, got {argument!r}")
        return self

    @property
    def left(self) -> dict[str, tuple[Any, ...]]:
        """The arguments of the grid, with their levels, of which the entry has not the value of one already."""
        return {argument: values for argument, values in self.grid.items() if argument not in self.kwargs}

    @property
    def levels(self) -> Iterator[EnvironmentEntry]:
        """An entry for each combination of the grid's levels; itself without a grid, or if it is one of them."""
        left = self.left
        for level in itertools.product(*left.values()):
            stated = dict(zip(left, level))
            texts = (value if isinstance(value, str) else json.dumps(value) for value in level)
            words = ", ".join(f"{name} {text}" for name, text in zip(left, texts))
            label = ", ".join(filter(None, (self.ref.label if words else self.label, words)))
            yield self.model_copy(update={"kwargs": {**self.kwargs, **stated}, "label": label})

    @property
    def ref(self) -> Ref:
        """The entry as it stands in a spec; of one with a grid that of no level."""
        return Ref(self.id, self.kwargs, self.label, self._apart)

    @property
    def _apart(self) -> tuple[str, ...]:
        return tuple(argument for argument in self.grid if argument in OF_NO_FUNCTION)

    @model_validator(mode="after")
    def _members_and_kernels(self) -> EnvironmentEntry:
        if len(self.members) > 1:
            raise ValueError(f"members: expected one argument with its values, got {', '.join(self.members)}")
        if self.kernels and not self.members:
            raise ValueError("kernels: expected the key 'members' beside it, by whose values they are")
        for argument, values in self.members.items():
            if twice := _twice(map(str, values)):
                raise ValueError(f"members: expected different values of {argument!r}, got {twice[0]} twice")
            if not values:
                raise ValueError(f"members: expected at least one value of {argument!r}, got none")
            if argument in self.kwargs:
                raise ValueError(f"members: expected an argument that is not among kwargs, got {argument!r}")
            lacking = [value for value in values if self.kernels and str(value) not in self.kernels]
            if lacking:
                raise ValueError(f"kernels: expected settings of {argument} {lacking[0]!r}, got none")
            for value in values:
                if both := sorted({argument, *self.kwargs} & self.kernels.get(str(value), {}).keys()):
                    raise ValueError(f"kernels: {both[0]!r} of {argument} {value!r} is among kwargs or members already")
        return self

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(Ref(self.id, {**self.kwargs, **member}, self.label, self._apart) for member in self.variants) or (
            self.ref,
        )

    @property
    def variants(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each member; empty for an environment that is no family."""
        return tuple(
            {argument: value, **self.kernels.get(str(value), {})}
            for argument, values in self.members.items()
            for value in values
        )


class SuiteTask(NamedTuple):
    """An environment entry with the suite's horizon, repetitions and feedback filled in."""

    env: Ref
    horizon: int
    repetitions: int
    feedback: str
    variants: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """See `leaderboards.play.spec.task_key`."""
        return task_key(self.env, self.horizon, self.feedback)

    def member(self, seed: int, repetition: int) -> Mapping[str, Any]:
        """The settings of the member that is played in a repetition; empty if the environment is no family."""
        if not self.variants:
            return {}
        drawn = f"{self.env.drawn} {self.horizon} {self.feedback}"  # that of `key`, but for a grid
        order = keyed([seed, drawn, "member"]).permutation(len(self.variants))
        return self.variants[order[repetition % len(order)]]


class Suite(_Strict):
    """Environments times agents times repetitions.

    Attributes:
        name: Short name; letters, digits, `-` and `_`.
        description: What the suite is for, in a sentence.
        environments: Its environments.
        agents: Its agents.
        horizon: Number of evaluations of a run.
        repetitions: Number of repetitions of every pair.
        seed: Root seed of all streams.
        feedback: When feedback arrives, see `gpbandit_envs.channels`.
        part_of: Name of the suite of which every run of this one is a run too; "" for a suite of its own.
        source: What `gpbandit run` takes for it, as it was given: the name of a suite or the path of a file; "" for a
            suite given in Python. Not stated in a file.
        headline: The criterion that pages rank by, one of `leaderboards.score.rankings.CRITERIA`; "" for cumulative
            regret, and on boxes inference regret.
    """

    name: Annotated[str, AfterValidator(_as_name)]
    description: Text = ""
    horizon: Count
    repetitions: Count
    seed: Annotated[NonNegativeInt, _Whole] = 0
    feedback: _Feedback = "on_request"
    part_of: Annotated[str, AfterValidator(lambda name: name and _as_name(name))] = ""  # of a folder of boards
    source: Text = ""
    environments: tuple[EnvironmentEntry, ...] = Field(min_length=1)
    agents: tuple[AgentEntry, ...] = Field(min_length=1)
    headline: str = ""

    @field_validator("headline")
    @classmethod
    def _is_a_criterion(cls, name: str) -> str:
        if name not in ("", *RANKED_BY, *IN_UNITS):
            raise ValueError(f"expected one of {', '.join((*RANKED_BY, *IN_UNITS))}, got {name!r}")
        return name

    @field_validator("environments")
    @classmethod
    def _levels(cls, entries: tuple[EnvironmentEntry, ...]) -> tuple[EnvironmentEntry, ...]:
        if sum(math.prod(map(len, entry.left.values())) for entry in entries) > _MOST_LEVELS:
            raise ValueError(f"grid: expected at most {_MOST_LEVELS:,} combinations of levels, got more")
        return tuple(level for entry in entries for level in entry.levels)

    @field_validator("environments", "agents")
    @classmethod
    def _labels_differ(cls, entries: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
        if twice := _twice(entry.ref.label for entry in entries):
            raise ValueError(
                f"label {twice[0]!r} stands for several entries; give each a label of its own, in a suite's file as "
                "label = \"...\", in Python as a mapping, {'label': (id, kwargs), ...}"
            )
        return entries

    @model_validator(mode="after")
    def _can_be_listed(self) -> Suite:
        if self.n_runs > MOST_RUNS:
            raise ValueError(f"expected at most {MOST_RUNS:,} runs, got {self.n_runs:,}: make several suites of it")
        return self

    @property
    def tasks(self) -> tuple[SuiteTask, ...]:
        """One for each environment entry."""
        return tuple(
            SuiteTask(
                entry.ref,
                entry.horizon or self.horizon,
                entry.repetitions or self.repetitions,
                entry.feedback or self.feedback,
                entry.variants,
            )
            for entry in self.environments
        )

    @property
    def levels(self) -> dict[str, dict[str, Any]]:
        """By the label of each environment the arguments that its grid goes through; empty for one of no grid."""
        return {one.ref.label: {name: one.kwargs[name] for name in one.grid} for one in self.environments}

    @property
    def n_runs(self) -> int:
        """How many runs `specs` has."""
        return len(self.agents) * sum(task.repetitions for task in self.tasks)

    def specs(self) -> Iterator[RunSpec]:
        """All runs, repetition by repetition."""
        tasks, agents = self.tasks, [entry.ref for entry in self.agents]
        for repetition in range(max(task.repetitions for task in tasks)):
            for task in tasks:
                if repetition < task.repetitions:
                    shared: dict[str, Any] = {"env": task.env, "horizon": task.horizon, "feedback": task.feedback}
                    shared |= {"repetition": repetition, "member": task.member(self.seed, repetition)}
                    yield from (RunSpec(agent=agent, seed=self.seed, **shared) for agent in agents)

    def frozen(self) -> Suite:
        """The same suite with every default written out, as it is kept with its results."""
        stated = ("horizon", "repetitions", "feedback")
        environments = tuple(
            entry.model_copy(update={name: getattr(task, name) for name in stated} | {"label": task.env.label})
            for entry, task in zip(self.environments, self.tasks)
        )
        agents = tuple(entry.model_copy(update={"label": entry.ref.label}) for entry in self.agents)
        return self.model_copy(update={"environments": environments, "agents": agents})

    def holdout(self) -> Suite:
        """The same suite with another root seed: whoever tuned on the instances of this one does worse on those.

        The seed is the first 128 bits of the SHA-256 of `NAME/holdout`.
        """
        seed = int(hashlib.sha256(f"{self.name}/{HOLDOUT}".encode()).hexdigest()[:32], 16)
        return self.model_copy(update={"name": f"{self.name}-{HOLDOUT}", "seed": seed, "part_of": ""})

    def pinned(self) -> Suite:
        """The same suite, its environments of the user's own stated with all that they depend on.

        Raises:
            SuiteError: naming the entry whose file is gone.
        """
        entries = []
        for entry in self.environments:
            try:
                ref = pinned(entry.ref)
            except (ValueError, OSError) as error:
                raise SuiteError(f"suite {self.name!r}, environments, {entry.ref.label!r}: {error}") from None
            stated = {"id": ref.id, "kwargs": dict(ref.kwargs), "label": ref.label}
            entries.append(entry if ref == entry.ref else entry.model_copy(update=stated))
        return self.model_copy(update={"environments": tuple(entries)})

    def with_agents(self, further: Iterable[AgentEntry]) -> Suite:
        """The suite with further agents; one whose label is taken has its full id for a label, or that with a number.

        Raises:
            SuiteError: if the suite has one of them already.
        """
        entries = list(self.agents)
        for entry in further:
            if same := [other for other in entries if other.ref.identity == entry.ref.identity]:
                raise SuiteError(f"agents: {entry.id!r} plays already, as {same[0].ref.label!r}")
            taken = {other.ref.label for other in entries}
            labels = itertools.chain([entry.ref.label, entry.id], (f"{entry.id} {n}" for n in itertools.count(2)))
            label = next(label for label in labels if label not in taken)
            entries.append(entry.model_copy(update={"label": label}))
        return self.model_copy(update={"agents": tuple(entries)})

    def check(self) -> None:
        """Check all ids and settings before anything runs.

        Raises:
            SuiteError: naming the entry.
        """
        for entry in (*self.environments, *self.agents):
            is_agent = isinstance(entry, AgentEntry)
            try:
                for ref in entry.refs:
                    _check_values(ref)
                    build_agent(ref) if is_agent else check_env_ref(ref)
            except (Exception, SystemExit) as error:
                where = f"suite {self.name!r}, {'agents' if is_agent else 'environments'}, {entry.ref.label!r}"
                raise SuiteError(f"{where}: {_fault(error)}") from None
        families = Counter(task.key for task in self.tasks if task.variants)
        if same := [task.env.label for task in self.tasks if families[task.key] > 1]:
            raise SuiteError(
                f"suite {self.name!r}, environments: {same[0]!r} and {same[1]!r} differ in their members alone, and "
                "would be one task"
            )
        known: set[str] = set()
        for spec in self.specs():
            if spec.key in known:
                raise SuiteError(
                    f"suite {self.name!r}: two entries ask for the same runs of {spec.agent.id!r} on {spec.env.id!r}"
                )
            known.add(spec.key)


def further(suite: Suite, listed: Suite) -> Suite:
    """`suite` with those agents only that `listed` has not.

    Raises:
        SuiteError: if there is none.
    """
    known = {entry.ref.key for entry in listed.agents}
    agents = tuple(entry for entry in suite.agents if entry.ref.key not in known)
    if not agents:
        raise SuiteError(f"agents: expected one or more that suite {listed.name!r} does not list, got none")
    return suite.model_copy(update={"agents": agents})


def not_in_suite(suite: Suite, specs: Mapping[str, RunSpec]) -> list[str]:
    """Those keys of `specs` whose environment, horizon, feedback, seed or member the suite does not have.

    Further agents and repetitions do not count: they are paired with what the suite has.
    """
    tasks = {task.key: task for task in suite.tasks}
    return [
        key
        for key, spec in specs.items()
        if spec.seed != suite.seed
        or (task := tasks.get(spec.task)) is None
        or spec.member != describe(task.member(spec.seed, spec.repetition))
    ]


def build_environments_once(specs: Iterable[RunSpec]) -> dict[str, str]:
    """Build every environment once, so that its data are fetched and its settings tried before anything runs.

    Each run builds its own again, so that none finds what another left in an environment: where the data are there,
    that costs 1 to 30 ms.

    Returns:
        Why the data of an environment cannot be had, by the key of its ref, for those of which they cannot.

    Raises:
        SuiteError: naming an environment that cannot be built for another reason.
    """
    without_data = {}
    with asked_once():
        for spec in {spec.built.key: spec for spec in specs}.values():
            try:
                build_env(spec.built, spec.horizon).close()
            except DataError as error:
                without_data[spec.built.key] = data_reason(error)
            except Exception as error:
                raise SuiteError(f"{spec.env.label} cannot be built: {type(error).__name__}: {error}") from None
    return without_data


def suite_names() -> list[str]:
    """Names of the suites that come with the package."""
    return sorted(path.stem for path in _SUITES.glob("*.toml"))


def load_suite(name: str, *, kernels: bool = True) -> Suite:
    """The suite `name`: one of `suite_names()`, or the path of a TOML file.

    `NAME/holdout` is the suite NAME on instances that nobody is offered for tuning, see `Suite.holdout`. With `kernels`
    False, files that hold settings of members are not read, as before they are made.

    Raises:
        SuiteError: if there is none, or it is not written as `Suite` says.
    """
    whole, _, part = name.rpartition("/")
    if part == HOLDOUT and whole in suite_names():
        return load_suite(whole).holdout().model_copy(update={"source": name})
    path = Path(name)
    if not (name.endswith(".toml") or path.is_file()):
        if path.is_dir() and name not in suite_names():
            raise SuiteError(f"suite: expected a name or the path of a TOML file, got the folder {name!r}")
        if name not in suite_names():
            hint = did_you_mean(name, suite_names())
            raise SuiteError(f"suite: expected the name of one or the path of a TOML file, got {name!r}; {hint}")
        path = _SUITES / f"{name}.toml"
    try:
        values = dict(expanded(tomllib.loads(path.read_text(encoding="utf-8-sig"))))
        entries = values.get("environments")
        if isinstance(entries, list):  # anything else `Suite` refuses
            folder = path.parent if kernels else None
            values["environments"] = [_with_kernels(i, entry, folder) for i, entry in enumerate(entries)]
        return parse_suite({**values, "source": name})
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"suite {name}: not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise SuiteError(f"suite {name}: expected UTF-8 text, got other bytes ({error}); save it as UTF-8") from None
    except OSError as error:
        raise SuiteError(f"suite {name}: cannot be read ({error})") from None
    except SuiteError as error:
        raise SuiteError(f"suite {name}: {error}") from None


def _with_kernels(i: int, entry: Any, folder: Path | None) -> Any:
    """An environment with the settings of its members in place of the name of a file that holds them.

    Without a folder, with neither.

    Raises:
        SuiteError: naming the key whose file cannot be read, or has no entry of that label.
    """
    file = entry.get("kernels") if isinstance(entry, Mapping) else None
    if not isinstance(file, str):
        return entry
    if folder is None:
        return {name: value for name, value in entry.items() if name != "kernels"}
    key = f"key 'environments.{i}.kernels'"
    try:
        label = EnvironmentEntry(id=entry["id"], label=entry.get("label", "")).ref.label
    except (KeyError, TypeError, ValueError):
        return entry  # which `Suite` refuses
    try:
        members = json.loads((folder / file).read_text(encoding="utf-8-sig"))["families"][label]["members"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        expected = f"a JSON file with 'members' of {label!r} among its 'families'"
        raise SuiteError(f"{key}: expected {expected}, got {file!r} ({why})") from None
    return {**entry, "kernels": members}


def suite_folder(name: str) -> Path:
    """The folder of the file of a suite."""
    return _SUITES if name in suite_names() else Path(name).parent


def source_of(suite: Suite) -> str:
    """What `gpbandit run` takes for a suite; "" for one given in Python.

    Boards, and suites kept by versions that noted no source, are those of the package if they ask for the same.
    """
    if suite.source or suite.name not in suite_names():
        return suite.source
    listed = [(task.key, task.repetitions) for task in load_suite(suite.name).tasks]
    return suite.name if listed == [(task.key, task.repetitions) for task in suite.tasks] else ""


def expanded(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a suite that is part of another, with what it takes from that one; of any other as they are.

    Such a suite states `name`, `description`, `part_of`, `tasks` (labels of the other's environments) and
    `repetitions`: its tasks are the other's, and so are its agents, horizon, seed and feedback. With further `agents`
    it is a suite of its own, on the same functions.

    Raises:
        SuiteError: if there is no such suite or task, or a key is missing or too many.
    """
    if "tasks" not in values:
        return values
    keys = ("name", "description", "part_of", "tasks", "repetitions")
    if set(values) - {"agents"} != set(keys):
        raise SuiteError(f"part of a suite: expected the keys {', '.join(keys)}, got {', '.join(values)}")
    whole = load_suite(str(values["part_of"])).frozen()
    entries = {entry.label: entry for entry in whole.environments}
    if unknown := [label for label in values["tasks"] if label not in entries]:
        raise SuiteError(f"tasks: {whole.name!r} has no {unknown[0]!r}; there are {', '.join(map(repr, entries))}")
    environments = [
        entries[label].model_copy(update={"repetitions": values["repetitions"]}).model_dump()
        for label in values["tasks"]
    ]
    stated = {name: values[name] for name in ("name", "description", "part_of", "repetitions")}
    found = whole.model_dump() | stated | {"environments": environments}
    further = values.get("agents", [])
    return {**found, "part_of": "", "agents": [*found["agents"], *further]} if further else found


def parse_suite(values: Mapping[str, Any]) -> Suite:
    """The suite with these keys.

    Raises:
        SuiteError: naming the first key that is unknown, missing or out of range.
    """
    try:
        return Suite(**values)
    except ValidationError as error:
        raise SuiteError(_first_error(error)) from None


def _fault(error: BaseException) -> str:
    """The fault of an entry: the message of a check, else the type of the error and where it was raised."""
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError | ImportError) and text:
        return text
    kind = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return kind  # which names its own line
    return f"{kind} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _check_values(ref: Ref) -> None:
    """Check that no setting is, or holds, an object, which a spec can only describe.

    Raises:
        ValueError: naming the first; it says what to do.
    """
    objects = [name for name, value in ref.kwargs.items() if '"$object": ' in json.dumps(value)]
    if objects:
        raise ValueError(
            f"a suite cannot hand on the object given as {objects[0]!r}: in Python, give the built agent under a "
            "label, as {'mine': agents.make(...)}; in an environment, state it in a class or recipe of your own"
        )


def _first_error(error: ValidationError) -> str:
    # A misspelt key is unknown and missing at once; that it is unknown says more.
    first = min(error.errors(include_url=False), key=lambda entry: entry["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        entries: dict[str, type[_Strict]] = {"environments": EnvironmentEntry, "agents": AgentEntry}
        model = entries.get(str(first["loc"][0]), Suite) if len(first["loc"]) > 1 else Suite
        known = [name for name in model.model_fields if name != "source"]  # which a file does not state
        hint = did_you_mean(first["loc"][-1], known, f"the keys are {', '.join(known)}")
        return f"unknown key {where!r}; {hint}"
    if first["type"] == "missing":
        return f"key {where!r} is missing"
    key = f"key {where!r}: " if where else ""
    given = first["input"]
    if first["type"] == "value_error":
        return key + re.sub(r"^Value error, ", "", first["msg"])  # which says what came
    if first["type"] == "tuple_type":
        alone = f"; for one, write [{given!r:.80}]" if isinstance(given, str) else ""
        one = f"a single one; write [[{where}]] above each" if isinstance(given, Mapping) else f"{given!r:.80}{alone}"
        return f"{key}expected a list of entries, got {one}"
    if first["type"] == "too_short":
        return f"{key}expected at least one entry, got none"
    return f"{key}{first['msg'][:1].lower()}{first['msg'][1:]}, got {str(given)[:80]}"
