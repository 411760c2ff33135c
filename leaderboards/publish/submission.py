"""Submissions to a board: results, the code that made them, and the text that goes with them.

FOLDER/submission.json   agents, where their code is, the suite, versions
FOLDER/results.zip       the runs, as `leaderboards.store.exchange.pack` writes them
FOLDER/code/             the source files of agents that no registry has
FOLDER/PULL_REQUEST.md   the text of the pull request, with the table
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.metadata
import json
import os
import pkgutil
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator, model_validator

import agents
from gpbandit_envs.code_digest import is_installed
from gpbandit_envs.version import __version__
from leaderboards.play.build import is_own_env, site_folders
from leaderboards.play.measures import IN_UNITS, RANKED_BY
from leaderboards.play.spec import Ref
from leaderboards.play.suite import AgentEntry, Suite, load_suite, not_in_suite, source_of, suite_names
from leaderboards.publish.boards import BOARD, Board, board_folder, board_of, open_results
from leaderboards.publish.labels import fault, looks_like
from leaderboards.publish.make import write_board
from leaderboards.score.answer import legend
from leaderboards.score.board_scores import alike, board_scores
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import task_classes
from leaderboards.score.summary import summarise
from leaderboards.store import exchange
from leaderboards.store.intact import StoreError, read_limited
from leaderboards.store.kept import KeptRun, keep
from leaderboards.store.provenance import MANIFEST, Report, Source, Strict
from leaderboards.store.run_file import first_error
from leaderboards.store.store import Store
from leaderboards.text import visible
from leaderboards.verify.changed_code import changed_since
from leaderboards.verify.fingerprint import PROJECT, fingerprint, imported_files, imported_names, module_root

LIST = "submission.json"
_RESULTS, _CODE, _TEXT = "results.zip", "code", "PULL_REQUEST.md"
_SCHEMA = 1
_PINNED = r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+$"
_CURVES = 1e-4  # what a board keeps of a curve has 16 bits of the mantissa
_TAKEN = {*sys.stdlib_module_names, "sitecustomize", "usercustomize", *PROJECT}


class SubmittedAgent(Strict):
    """An agent of a submission.

    Attributes:
        id: Its id.
        kwargs: Its settings.
        label: Its label.
        files: SHA-256 of its source files, by their path below `code/`.
        requires: Distributions with versions that it comes from, and that its files import, as pip takes them.
    """

    id: str
    kwargs: dict[str, Any]
    label: str
    files: dict[str, str] = Field(default_factory=dict)
    requires: list[Annotated[str, Field(pattern=_PINNED)]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_one(self) -> SubmittedAgent:
        if self.ref.label != self.label:
            raise ValueError(f"expected a label in one line that can be seen, got {self.label!r:.80}")
        return self

    @property
    def ref(self) -> Ref:
        """The agent as it stands in a spec."""
        return Ref(self.id, self.kwargs, self.label)


class _List(Strict):
    schema_: int = Field(_SCHEMA, alias="schema")
    suite: str
    version: str
    agents: list[SubmittedAgent]

    @field_validator("agents")
    @classmethod
    def _differ(cls, agents: list[SubmittedAgent]) -> list[SubmittedAgent]:
        if len({agent.ref.key for agent in agents}) < len(agents):
            raise ValueError("expected every agent once")
        return agents


@dataclass(frozen=True)
class Submission:
    """A submission whose files are what its list states.

    Attributes:
        folder: Where it is.
        suite: Name of the suite.
        agents: Its agents.
        store: Its runs, in a results folder of their own.
        rejected: What could not be read of its results, with the reason.
        left_out: What is not in it, in words; known when it is made: runs that are not done, and libraries that files
            import and of which nobody can tell how they are installed.
    """

    folder: Path
    suite: str
    agents: tuple[SubmittedAgent, ...]
    store: Store
    rejected: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def code(self) -> Path:
        """The folder of the source files of its agents; there is none if registries have all of them."""
        return (self.folder / _CODE).resolve()

    def readable_code(self) -> Path:
        """A copy of `code` beside its results that all may read: where root plays, an isolated agent is nobody.

        Raises:
            OSError: if it cannot be written.
        """
        copy = self.store.directory.with_name(_CODE)
        for name in sorted({name for agent in self.agents for name in agent.files}):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.code / name, copy / name)
        for path in (copy, *copy.rglob("*")) if copy.exists() else ():
            path.chmod(0o755 if path.is_dir() else 0o644)
        return copy


# ---- made ----


def make_submission(directory: Path, folder: Path, same_code: bool = False) -> Submission:
    """Make the submission of a results folder that was played against a board: of its done runs.

    Args:
        directory: The results folder.
        folder: The submission, a new folder.
        same_code: Whether files of agents that are younger than their runs have the same code all the same.

    Raises:
        StoreError: if the folder holds no finished run, the code of an agent cannot be found or was edited after its
            runs, or `folder` holds files.
        OSError: if `folder` cannot be written.
    """
    store = Store(directory)
    suite = store.suite()
    done = [store.spec(key) for key in sorted(store.done_keys())]
    played = {spec.agent.key: spec.agent for spec in done}
    if not done or suite is None:
        raise StoreError(f"{directory} holds no finished run of a suite to submit")
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreError(f"{folder} holds files already: give a new folder, or remove it")
    if wrong := [text for ref in played.values() if (text := fault(ref.label))]:
        raise StoreError(wrong[0])
    codes = {key: _code_of(ref) for key, ref in played.items()}
    for key, (files, _) in codes.items() if not same_code else ():
        finished = [run.finished for run in store.entries().values() if run.spec.agent.key == key]
        if files and (edited := changed_since(files.values(), finished)):
            raise StoreError(
                f"{played[key].label}: {edited}, and others would play other code than you did: play it anew into "
                "another folder (`gpbandit run ... --out`) and submit that; where only the date is new, as after a "
                "copy or a change of a comment, give --same-code"
            )
    new = folder.with_name(f".gpbandit-{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)  # of a command that was stopped
    new.mkdir(parents=True)
    submitted = []
    for key, (files, owners) in codes.items():
        hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
        for name, path in files.items():
            (new / _CODE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / _CODE / name)
        ref = played[key]
        submitted.append(
            SubmittedAgent(id=ref.id, kwargs=dict(ref.kwargs), label=ref.label, files=hashes, requires=owners)
        )
    exchange.pack(directory, new / _RESULTS, "done")  # others have no numbers, and nobody would play them again
    listed = _List(schema=_SCHEMA, suite=suite.name, version=__version__, agents=submitted)
    (new / LIST).write_text(listed.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
    (new / _TEXT).write_text(_text(directory, folder.name, suite, submitted, len(done)), encoding="utf-8")
    os.replace(new, folder)
    unknown = {name: where for files, _ in codes.values() for name, where in _unknown(files).items()}
    left_out = [
        f"{name!r}, which {file} imports and no distribution here has: say in {_TEXT} how it is installed, if the "
        "agent needs it"
        for name, file in sorted(unknown.items())
    ]
    ended = Counter((run.spec.agent.label, run.status) for run in store.entries().values() if run.status != "done")
    others = [f"{n} runs of {label}: {status}" for (label, status), n in sorted(ended.items())]
    return Submission(folder, suite.name, tuple(submitted), store, (), (*others, *left_out))


def _code_of(ref: Ref) -> tuple[dict[str, Path], list[str]]:
    """The source files of an agent by their path below `code`, or what pip installs it from; none of this project's.

    Raises:
        StoreError: if nobody else can play it, or its code is not found or not to be submitted.
    """
    if fingerprint(ref) is not None:
        return {}, []
    if not ref.rebuildable:
        raise StoreError(
            f"{ref.label} was given as an object or a class of a notebook, which nobody else can play: put the class "
            "into a file and name it as module:Class"
        )
    module = ref.id.partition(":")[0]
    if ":" not in ref.id:
        entry = agents.spec(ref.id).entry_point
        module = entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", ""))
    found = _found(module)
    if found is None or found.origin is None:
        raise StoreError(f"{ref.label}: the module {module!r} is not found: give the command in the folder it is in")
    origin = Path(found.origin)
    if is_installed(origin):
        names = importlib.metadata.packages_distributions().get(module.partition(".")[0], [])
        if names:
            return {}, [f"{name}=={importlib.metadata.version(name)}" for name in sorted(set(names))]
    root = module_root(module, origin)
    files = {path.relative_to(root).as_posix(): path for path in imported_files(origin, root)}
    for name in files:
        _check_name(name)
    return files, _required(files)


def _required(files: Mapping[str, Path]) -> list[str]:
    """The distributions that source files import and this project does not bring along; nothing is imported."""
    brought = {_normal(text) for text in importlib.metadata.requires("gpbandit-envs") or [] if "extra ==" not in text}
    owners = importlib.metadata.packages_distributions()
    names = {owner for module in _foreign(files) for owner in owners.get(module, ()) if _normal(owner) not in brought}
    return [f"{name}=={importlib.metadata.version(name)}" for name in sorted(names)]


def _unknown(files: Mapping[str, Path]) -> dict[str, str]:
    """The modules that source files import and no installed distribution has, and a file that does."""
    owners = importlib.metadata.packages_distributions()
    return {module: name for module, name in _foreign(files).items() if module not in owners}


def _foreign(files: Mapping[str, Path]) -> dict[str, str]:
    """The modules that source files import beside their own, Python's and this project's, and a file that does."""
    own = {PurePosixPath(name).with_suffix("").parts[0] for name in files} | _TAKEN
    return {module: name for name, path in files.items() for module in imported_names(path) if module not in own}


def _normal(text: str) -> str:
    """The name that a requirement begins with, as it is compared."""
    return re.split(r"[^\w.-]", text)[0].replace("-", "_").lower()


def not_installed(submission: Submission) -> dict[str, str]:
    """Which of the submitted agents require what is not installed here, by their keys, and what that is."""
    found = {}
    for agent in submission.agents:
        for text in agent.requires:
            try:
                importlib.metadata.version(text.partition("==")[0])
            except (importlib.metadata.PackageNotFoundError, ValueError):
                found[agent.ref.key] = f"it requires {visible(text)}, which is not installed here"
    return found


def _found(module: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module is, in the current folder or among what is installed; neither it nor its package is imported."""
    where: Sequence[str] | None = [os.getcwd(), *sys.path]
    found, names = None, module.split(".")
    for n in range(1, len(names) + 1):
        found = importlib.machinery.PathFinder.find_spec(".".join(names[:n]), where) if where is not None else None
        where = None if found is None else found.submodule_search_locations
    return found


def _text(directory: Path, name: str, suite: Suite, submitted: Iterable[SubmittedAgent], runs: int) -> str:
    """The text of the pull request."""
    labels = [agent.label for agent in submitted]
    lines = [f"# {', '.join(labels)} on {suite.name}", ""]
    lines += [
        "Whoever keeps the board adds it by `gpbandit board add FOLDER --by NAME --code ADDRESS`, which plays it again."
    ]
    if suite.part_of:
        lines += [f"Its runs go to the board {suite.part_of}, where the agent is ranked on these tasks alone."]
    ids, source = " ".join(f"--agent {agent.id}" for agent in submitted if not agent.kwargs), source_of(suite)
    command = (
        ["```sh", f"gpbandit run {shlex.quote(source)} {ids} --against board", "```", ""] if source and ids else []
    )
    how = "by:" if command else "from Python."
    lines += ["", f"{runs} runs with gpbandit-envs {__version__}, played {how}", "", *command]
    for agent in submitted:
        if agent.kwargs:
            lines += [f"`{agent.label}` is `{(agent.id, dict(agent.kwargs))!r}`, played from Python (`run_suite`).", ""]
    lines += [
        *_table(directory, set(labels)),
        "What the agent is, and where it is described (paper, equations):\n\n...\n",
        "- [ ] No setting was chosen by looking at results on this suite's instances; or, if so, it is said above.",
        "- [ ] The code in `code/` may be kept and shown here, under this licence: ...",
        f"- [ ] `gpbandit verify {name}` agrees on my machine.",
    ]
    return "\n".join(lines) + "\n"


def _table(directory: Path, own: set[str]) -> Iterator[str]:
    """The scores of the submitted agents in Markdown, by each criterion."""
    summary = summarise(open_results(directory), n_points=2)
    aliases = alike(summary)
    for one in task_classes(summary):
        rows = []
        for by in IN_UNITS if summary.headline in IN_UNITS else RANKED_BY:
            if (found := board_scores(summary, one.tasks, by, aliases=aliases)) is None:
                continue
            for agent in (agent for agent in found.ordered if agent in own):
                i = found.agents.index(agent)
                score = found.wide[i]
                label = agent.replace("|", r"\|")
                ends = f"{score.low:.1f} to {score.high:.1f}" if score.is_known else ""
                marked = f"{found.place(i)} of {len(found.agents)}, {found.where}"
                rows.append(f"| {METRICS[by].title.lower()} | {label} | {score.estimate:.1f} | {ends} | {marked} |")
        if rows:
            yield f"Scores over {len(one.tasks)} tasks ({one.name}). {legend(summary.headline)}"
            yield from (
                "",
                "| criterion | agent | score | 95 % interval | place or group |",
                "|---|---|---|---|---|",
                *rows,
                "",
            )


# ---- opened and checked ----


def open_submission(folder: Path, scratch: Path) -> Submission:
    """A submission, its results added to the empty results folder `scratch`; none of its code is imported.

    Raises:
        StoreError: if the folder holds no submission, a file is not what its list states, or its code has a link, a
            file that is not listed, or a module of a name of Python's or of this project.
    """
    for name in (LIST, _RESULTS):  # what it leads to would be read, and quoted where it makes no sense
        if (folder / name).is_symlink():
            raise StoreError(f"{folder / name}: expected a file, got a link")
    try:
        values = json.loads(read_limited(folder / LIST))
        if values["schema"] > _SCHEMA:
            raise StoreError(
                f"{folder}: a submission of schema {values['schema']}, which only a newer version can read"
            )
        listed = _List.model_validate(values)
    except FileNotFoundError:
        raise StoreError(f"{folder} holds no submission: expected the file {LIST}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"{folder / LIST} is no list of a submission: {first_error(error)}") from None
    _check_code(folder / _CODE, {name: sha256 for agent in listed.agents for name, sha256 in agent.files.items()})
    received = exchange.add(folder / _RESULTS, scratch)
    return Submission(folder, listed.suite, tuple(listed.agents), Store(scratch), received.rejected)


def _check_code(code: Path, listed: Mapping[str, str]) -> None:
    """Check that a folder holds the source files that are listed with their SHA-256, no other file and no link.

    Raises:
        StoreError: if it does not.
    """
    for name in listed:
        _check_name(name)
    if code.is_symlink():
        raise StoreError(f"{code}: expected a folder, got a link")
    if code.exists() and not code.is_dir():
        raise StoreError(f"{code}: expected a folder, got a file, a device or a pipe")
    for folder, folders, files in os.walk(code):
        for name in sorted([*folders, *files]):
            path = Path(folder, name)
            if path.is_symlink():
                raise StoreError(f"{path}: expected files and folders, got a link")
            if name in files and path.relative_to(code).as_posix() not in listed:
                raise StoreError(f"{path}: expected only files that {LIST} lists, which this one is not: remove it")
    for name, sha256 in listed.items():
        try:
            found = hashlib.sha256(read_limited(code / name)).hexdigest()
        except OSError as error:
            raise StoreError(f"{code / name} cannot be read ({error.strerror}), which the submission lists") from None
        except ValueError as error:
            raise StoreError(f"{code / name}: {error}") from None
        if found != sha256:
            raise StoreError(f"{code / name} has not the hash that the submission states")


def _check_name(name: str) -> None:
    """Check that a path is one of a source file below the code, and not of a module that other code imports.

    Raises:
        StoreError: if not.
    """
    path = PurePosixPath(name)
    if not path.parts or ".." in path.parts or path.is_absolute() or path.suffix != ".py":
        raise StoreError(f"{LIST}: expected Python files below {_CODE}/, got {name!r}")
    module = path.with_suffix("").parts[0]
    if module in _TAKEN or module in _distributed():
        raise StoreError(
            f"{_CODE}/{name}: expected a module of a name of its own, got {module!r}, which is one of Python, of this "
            "project or of an installed distribution: rename it, and play its runs anew"
        )


@functools.cache
def _distributed() -> frozenset[str]:
    """Names of the modules that are installed here, or are named like what this project may use."""
    found = {module.name for module in pkgutil.iter_modules(site_folders())}
    asked = importlib.metadata.requires("gpbandit-envs") or []
    return frozenset(found | {_normal(text) for text in asked})


def faults(submission: Submission) -> list[str]:
    """What is wrong with a submission before anything is played, in words: rows without code, foreign environments."""
    found = [f"results: {text}" for text in submission.rejected]
    runs, suite = [run.spec for run in submission.store.entries().values()], submission.store.suite()
    found += _misnamed(submission.agents, [spec.agent for spec in runs], suite)
    for id in sorted({spec.env.id for spec in runs if not is_own_env(spec.env.id)}):
        found.append(f"{id!r} is no environment of this project")
    if any("file" in spec.built.kwargs for spec in runs):
        found.append("an environment is a table in a file, which would be one of whoever plays it")
    if suite is None or suite.name != submission.suite:
        return [*found, f"the results are not of suite {submission.suite!r}"]
    # What the results call their suite, and of which it is a part, is the submitter's word.
    ours = load_suite(suite.name) if suite.name in suite_names() else None
    whole = board_folder(suite.part_of or suite.name)
    if (whole / MANIFEST).is_file():
        theirs = Board(whole).suite()
        for agent in submission.agents:
            others = [one.ref.label for one in theirs.agents if one.ref.key != agent.ref.key]
            if other := looks_like(agent.label, others):
                found.append(f"{agent.label}: expected a label that cannot be taken for {other!r} on the board")
        ours = ours or theirs
    if ours is not None:
        apart = not_in_suite(ours, {spec.key: spec for spec in runs})
        if apart or (suite.name == ours.name and suite.part_of != ours.part_of):
            found.append(f"{len(apart)} runs are of no task of suite {ours.name!r}")
    return found


def _misnamed(submitted: Iterable[SubmittedAgent], refs: Sequence[Ref], suite: Suite | None) -> Iterator[str]:
    """What is wrong with agents: rows without code, agents without rows, labels."""
    listed, played = {agent.ref.key: agent for agent in submitted}, {ref.key: ref for ref in refs}
    for key, ref in played.items():
        agent, path = listed.get(key), ref.id.partition(":")[0].replace(".", "/")
        if agent is None:
            yield f"{ref.label}: row without code: {LIST} does not list the agent {ref.id!r} with these settings"
        elif not agent.files and not agent.requires and fingerprint(ref) is None:
            yield f"{ref.label}: row without code: nothing says where {ref.id!r} comes from"
        elif agent.files and ":" in ref.id and not agent.files.keys() & {f"{path}.py", f"{path}/__init__.py"}:
            yield f"{ref.label}: row without code: no file of {ref.id!r} is among the {len(agent.files)} listed"
    for key, agent in listed.items():
        if key not in played:
            yield f"{agent.label}: {LIST} lists it, and no run is its"
        if text := fault(agent.label):
            yield f"{agent.label}: {text}"
    called = [*refs, *(entry.ref for entry in (suite.agents if suite is not None else ()))]
    for key, label in dict.fromkeys((ref.key, ref.label) for ref in called):
        if key in listed and listed[key].label != label:
            yield f"{listed[key].label}: the results call it {label!r}"


def is_submission(folder: Path) -> bool:
    """Whether a folder is that of a submission, and not of results."""
    return (folder / LIST).is_file()


def same_on_board(submission: Submission) -> list[str]:
    """Submitted runs in which another agent of the package's board did the same, or to past half, in words, by agent.

    Random agents cannot, and different policies hardly do so over a whole run: either the agents are one, or the trace
    is the other's. A copy that goes its own way later has the other's regret until then.
    """
    suite = submission.store.suite()
    if suite is None or not (board_folder(suite.part_of or suite.name) / MANIFEST).is_file():
        return []
    board = board_of(BOARD, suite)
    on_board: dict[tuple[str, int], list[tuple[Ref, KeptRun]]] = {}
    for key in board.done_keys():
        if (kept := board.kept(key)) is not None:
            spec = board.spec(key)
            on_board.setdefault((spec.task, spec.repetition), []).append((spec.agent, kept))
    counts = Counter[tuple[str, str, str]]()
    for key in submission.store.done_keys():
        run = submission.store.entry(key)
        if (mine := keep(run.spec, submission.store.trace(key))) is None:
            continue
        for agent, kept in on_board.get((run.spec.task, run.spec.repetition), ()):
            if agent.key != run.spec.agent.key and (how := _same(mine, kept)):
                counts[run.spec.agent.label, agent.label, how] += 1
    return [f"{n} runs of {mine} are those of {other} on the board, {how}" for (mine, other, how), n in counts.items()]


def _same(one: KeptRun, other: KeptRun) -> str | None:
    if one.digest == other.digest:
        return "bit for bit"
    half = int(np.searchsorted(one.t, one.t[-1] / 2)) + 1
    mine, theirs = (run.curves["cumulative_regret"][:half] for run in (one, other))
    if len(one.t) != len(other.t) or not np.allclose(mine, theirs, rtol=_CURVES, atol=_CURVES):
        return None
    return "to more than half"


def refuse_unfit(submission: Submission, folder: Path) -> None:
    """Raise a `StoreError` if an agent is on the board in `folder` already, or its author chose its repetitions."""
    board = Board(folder)
    there = {entry.ref.key for entry in board.suite().agents} & {run.spec.agent.key for run in board.entries().values()}
    twice = [agent.label for agent in submission.agents if agent.ref.key in there]
    if twice:
        raise StoreError(f"{twice[0]} is on the board already, with these settings")
    runs = [run.spec for run in submission.store.entries().values() if run.status == "done"]
    for task in board.suite().tasks:
        for agent in submission.agents:
            played = {spec.repetition for spec in runs if spec.task == task.key and spec.agent.key == agent.ref.key}
            if played and (lacking := set(range(task.repetitions)) - played):
                raise StoreError(
                    f"{agent.label} lacks {len(lacking)} of {task.repetitions} repetitions on {task.env.label}, which "
                    "its author could choose: a row has all repetitions of the tasks that it plays"
                )


def accept(submission: Submission, folder: Path, replayed: Store, report: Report, *, by: str, code: str) -> Board:
    """Add a submission to the board in `folder`, which the package has: its runs as they were played here.

    Args:
        submission: What is added.
        folder: The board.
        replayed: Its runs, played again.
        report: What that found.
        by: Who played them.
        code: Address of the code.

    Raises:
        StoreError: if an agent is on the board already, or was played on other tasks or instances.
        OSError: if the folder cannot be written.
    """
    refuse_unfit(submission, folder)
    board = Board(folder)
    specs = {run.key: run.spec for run in replayed.entries().values()}
    if apart := not_in_suite(board.suite(), specs):
        raise StoreError(
            f"{len(apart)} runs are of no task of {board.suite().name}, such as {specs[apart[0]].env.label}"
        )
    entries = [AgentEntry(id=agent.id, kwargs=agent.kwargs, label=agent.label) for agent in submission.agents]
    suite = board.suite().with_agents(entries)
    sources = {
        agent.ref.key: Source(
            standing="verified",
            by=by,
            version=__version__,
            fingerprint=fingerprint(agent.ref),
            code=code,
            report=report,
        )
        for agent in submission.agents
    }
    return write_board(suite, folder, replayed, sources=sources)
