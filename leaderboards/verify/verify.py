"""Play runs again and compare: the same trace, or where it first differs.

- identical: every number is the same, bit for bit; nothing less will do with the same loops of the same libraries.
- agrees: computed with others, as on another machine. Every number is within `TOLERANCE`; or the traces part at a
  choice of the agent, where rounding breaks a tie, and the means of `SETTLED` over `FEWEST` or more repetitions are the
  same within `MARGIN`, and no regret is lower on record than it is here.
- cannot be told here: the traces part and do not agree, and this machine has not the loops that the record states.
- undecided: the traces part, and there are fewer repetitions than that, or a mean differs by more, but not all
  repetitions in one direction; those that part at one tie, as of a policy that chooses without feedback, count as one.
- disagrees: anything else.
- cannot be played here: for want of data, of an extra, of the agent's code or of memory; no failure, and no proof.

Where traces part without a choice, as at a reward that is not the one that the environment pays for that action, no
rounding explains it, on any machine. Which machine a record is from it says itself, and the agent's code, which may be
a stranger's, runs beside the environment. So the environment is also stepped through the record's own actions, here,
where none of that code is: rewards, means, regrets and costs, after a parting too, are those that it pays.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from leaderboards.play.build import build_agent, build_env, is_own_env, missing_extra, not_here
from leaderboards.play.processor import environment_with
from leaderboards.play.record import TRACE_COLUMNS, InstanceData, lacks_data
from leaderboards.play.spec import RunSpec
from leaderboards.store.kept import CLOCK
from leaderboards.store.origin import origin
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.recompute import RECOMPUTED, recompute
from leaderboards.work.executors import Executor
from leaderboards.work.schedule import run_missing

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox

TOLERANCE = 1e-5
"""Relative and absolute tolerance where another CPU or another library build may round differently.

Functions drawn with a smooth kernel differ most, since their matrix is nearly singular: by up to 1e-6 between the
loops that OpenBLAS has for Haswell and for SkylakeX (environment variable OPENBLAS_CORETYPE), on draws of the
SE kernel in two dimensions.
"""

MARGIN = 0.1
"""Largest difference of a mean, as a share of the larger of both, after traces have parted."""

FEWEST = 5
"""Fewest repetitions of an agent on a task from which that is judged."""

SETTLED = ("cumulative_regret", "simple_regret", "inference_regret", "batches")
"""What is judged after traces have parted: values at the horizon, by their names among the metrics."""

NOT_HERE: Literal["cannot be played here"] = "cannot be played here"
NOT_TOLD: Literal["cannot be told here"] = "cannot be told here"

_BY_HAND = "it was played with an object or a class of a Python session, which no spec can rebuild"

Level = Literal["identical", "agrees", "undecided", "disagrees", "cannot be played here", "cannot be told here"]


@dataclass(frozen=True)
class Verdict:
    """Result of playing a run again.

    Attributes:
        key: The run.
        level: What was found.
        exact: Whether the traces had to agree bit for bit, since the loops of the same libraries computed them.
        text: The same in one line.
        finals: Values of `SETTLED` of the record and of the new trace; None if the run is not compared.
        parted: Whether the traces part at a choice on another machine, so that the finals have to be compared.
        tie: Where they part: the evaluation, and the cumulative regret after it in the record and in the new trace.
            Repetitions that choose alike until then, as those of a policy whose choices follow from no feedback, have
            it in common.
        lacks: The loops that the record states, where this machine has not these; "" where it has, or none are stated.
    """

    key: str
    level: Level
    exact: bool
    text: str
    finals: tuple[Mapping[str, float], Mapping[str, float]] | None = None
    parted: bool = False
    tie: tuple[float, ...] | None = None
    lacks: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the run is what its record says; None if that is undecided, or cannot be played or told here."""
        return None if self.level in (NOT_HERE, NOT_TOLD, "undecided") else self.level != "disagrees"


def verify(
    store: Store,
    keys: Iterable[str],
    scratch: Path,
    executor: Executor,
    sandbox: Sandbox | None = None,
    lacking: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """Play the runs `keys` again, in the empty folder `scratch`, and compare.

    Further repetitions are played where `judged` needs them.

    Args:
        store: Where their records are.
        keys: Which runs.
        scratch: Where they are played.
        executor: Plays them.
        sandbox: Where each agent plays, with code that this process does not find; None for beside the environment.
        lacking: Agents that cannot be played here, by their keys, and why.

    Raises:
        KeyError: if there is no such run.
        OSError: if a folder cannot be written.
    """
    again = Store(scratch)
    code = None if sandbox is None else sandbox.code

    def play(specs: list[RunSpec]) -> None:
        run_missing(specs, again, executor, sandbox=sandbox)

    verdicts = judged(
        store.entries(),
        list(keys),
        lambda keys: played_again(store, keys, again, play, lambda *runs: _judge(store, again, *runs), code, lacking),
    )
    if sandbox is None:
        return verdicts
    alone = "here it played in a process without the environment"
    return [
        one if one.level in ("identical", NOT_HERE) else replace(one, text=f"{one.text}; {alone}") for one in verdicts
    ]


def played_again(
    store: Store,
    keys: Iterable[str],
    again: Store,
    play: Callable[[list[RunSpec]], object],
    judge: Callable[[RunEntry, RunEntry], Verdict],
    code: Path | None = None,
    agents: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """Play runs of a folder again, as far as that can be done here, with a verdict on each alone.

    Args:
        store: Where their records are.
        keys: Which runs.
        again: Where they are played.
        play: Plays them.
        judge: Compares a record with that of a run which ended likewise.
        code: The folder with modules that this process does not find.
        agents: Those that cannot be played here, by their keys, and why.
    """
    specs = {key: store.spec(key) for key in keys}
    lacking = _without_extras(specs.values())
    by_hand = {key: _BY_HAND for key, spec in specs.items() if not spec.rebuildable}
    away = by_hand | {
        key: reason
        for key, spec in specs.items()
        if (reason := (agents or {}).get(spec.agent.key) or not_here(spec, code) or lacking.get(key))
    }
    play([spec for key, spec in specs.items() if key not in away])
    ended, found = again.entries(), []
    for key in specs:
        before, now = store.entry(key), ended.get(key)
        if key in away:
            found.append(Verdict(key, NOT_HERE, False, away[key]))
        elif now is None or now.status != before.status:
            found.append(otherwise_ended(before, now))
        else:
            found.append(judge(before, now))
    return found


def _without_extras(specs: Iterable[RunSpec]) -> dict[str, str]:
    """Which runs of this project's agents and environments need a library that is not installed, and which."""
    builds: dict[str, Callable[[], object]] = {}
    needs: dict[str, list[str]] = {}
    for spec in specs:
        if fingerprint(spec.agent) is not None:
            builds[spec.agent.key] = functools.partial(build_agent, spec.agent)
            needs.setdefault(spec.agent.key, []).append(spec.key)
        if is_own_env(spec.env.id):
            builds[spec.built.key] = functools.partial(_build, spec)
            needs.setdefault(spec.built.key, []).append(spec.key)
    found: dict[str, str] = {}
    for ref, build in builds.items():
        with contextlib.suppress(Exception):  # the run itself says what
            if reason := missing_extra(build):
                found |= dict.fromkeys(needs[ref], reason)
    return found


def _build(spec: RunSpec) -> None:
    build_env(spec.built, spec.horizon).close()


def by_loops(store: Store, keys: Iterable[str]) -> list[tuple[dict[str, str], list[str]]]:
    """Runs that are to be played with the same loops, each with the variables of a process that has them.

    They are the loops that the records state, where this machine has them, and its own elsewhere.
    """
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for key in keys:
        stated = store.entry(key).origin.machine.loops
        variables = None if stated is None else environment_with(tuple(stated))
        groups.setdefault(tuple((variables or {}).items()), []).append(key)
    return [(dict(variables), found) for variables, found in groups.items()]


def judged(
    runs: Mapping[str, RunEntry], keys: Sequence[str], play: Callable[[Sequence[str]], list[Verdict]]
) -> list[Verdict]:
    """The verdicts on `keys`, and on the further repetitions without which a run that parted could not be judged.

    Args:
        runs: All that there are.
        keys: Which to judge.
        play: Plays runs again and gives a verdict on each alone.
    """
    verdicts = play(keys)
    if further := _further(runs, verdicts):
        verdicts = verdicts + play(further)
    return settled(verdicts, {verdict.key: runs[verdict.key].spec.pair for verdict in verdicts})


def _further(runs: Mapping[str, RunEntry], verdicts: Sequence[Verdict]) -> list[str]:
    """Runs of each pair in which one parted, as many as it lacks of `FEWEST`.

    They follow from the runs that were chosen before: whoever cannot know those cannot know these.
    """
    tried = sorted(verdict.key for verdict in verdicts)
    chosen = hashlib.sha256(" ".join(tried).encode()).hexdigest()
    found: list[str] = []
    for pair in dict.fromkeys(runs[verdict.key].spec.pair for verdict in verdicts if verdict.parted):
        there = sum(verdict.finals is not None for verdict in verdicts if runs[verdict.key].spec.pair == pair)
        others = [key for key, run in runs.items() if run.spec.pair == pair and run.status == "done"]
        others = sorted(set(others) - set(tried), key=lambda key: hashlib.sha256(f"{chosen} {key}".encode()).digest())
        found += others[: max(FEWEST - there, 0)]
    return found


def settled(verdicts: Iterable[Verdict], pairs: Mapping[str, str]) -> list[Verdict]:
    """The verdicts, those on runs that parted settled by the means over all repetitions of their pair.

    Args:
        verdicts: Of single runs.
        pairs: By key, text that is equal for the repetitions of an agent on a task.
    """
    verdicts = list(verdicts)
    compared: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.finals is not None:
            compared.setdefault(pairs[verdict.key], []).append(verdict)
    return [_settle(verdict, compared[pairs[verdict.key]]) if verdict.parted else verdict for verdict in verdicts]


def _settle(verdict: Verdict, repetitions: Sequence[Verdict]) -> Verdict:
    open_: Level = NOT_TOLD if verdict.lacks else "undecided"
    n = len(repetitions)
    if verdict.lacks:
        verdict = replace(verdict, text=f"{verdict.text}, here without its loops ({verdict.lacks})")
    if n < FEWEST:
        text = f"{verdict.text}; that is judged from {FEWEST} or more repetitions, and there are {n}"
        return replace(verdict, level=open_, text=text)
    finals = [one.finals for one in repetitions if one.finals is not None]
    records, anew = ({name: np.array([run[name] for run in runs]) for name in SETTLED} for runs in zip(*finals))
    shares = {name: _share(float(records[name].mean()), float(anew[name].mean())) for name in SETTLED}
    worst = max(shares, key=lambda name: (math.isnan(shares[name]), shares[name]))
    text = f"{verdict.text}; over {n} repetitions {worst.replace('_', ' ')} differs most, by {shares[worst]:.1%}"
    if shares[worst] <= MARGIN:
        # Rounding breaks ties either way, and so does a forger: a record that is better than what is found here is not
        # believed on its own word.
        better = [
            name for name in SETTLED[:3] if float(records[name].mean()) < float(anew[name].mean()) and shares[name]
        ]
        if not better:
            return replace(verdict, text=text)
        lower = f"{better[0].replace('_', ' ')} is {shares[better[0]]:.1%} lower on record than it is here"
        return replace(verdict, level=open_, text=f"{text}; {lower}, which cannot be told here")
    apart = [name for name in SETTLED if not shares[name] <= MARGIN]
    ties = _ties(repetitions)
    if any(_one_sided(*(np.array([of[name][tie].mean() for tie in ties]) for of in (records, anew))) for name in apart):
        return replace(verdict, level="disagrees", text=text)
    return replace(verdict, level=open_, text=f"{text}, which may be chance")


def _ties(repetitions: Sequence[Verdict]) -> list[list[int]]:
    """The repetitions that part at one tie together, and each other one alone."""
    groups: dict[object, list[int]] = {}
    for index, one in enumerate(repetitions):
        tie = None if one.tie is None else (one.tie[0], *(f"{regret:.6g}" for regret in one.tie[1:]))
        groups.setdefault(index if tie is None else tie, []).append(index)
    return list(groups.values())


def _one_sided(records: Float[np.ndarray, " n"], anew: Float[np.ndarray, " n"]) -> bool:
    """Whether `FEWEST` ties or more were broken otherwise, all in one direction, or one is no number in one of the two.

    Where rounding alone parts the traces, either is as likely as the other.
    """
    differ = ~np.isclose(records, anew, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    moved = (anew - records)[differ]
    return bool(np.isnan(moved).any() or (len(moved) >= FEWEST and ((moved > 0).all() or (moved < 0).all())))


def _share(one: float, other: float) -> float:
    """The difference of two numbers as a share of the larger; NaN if only one is a number."""
    if np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return 0.0
    return math.nan if math.isnan(one + other) else abs(one - other) / max(abs(one), abs(other))


def parting(one: pd.DataFrame, other: pd.DataFrame) -> int | None:
    """How many evaluations two traces have in common before an agent chose otherwise.

    None if it never did, or if the environment paid something else before, which rounding does not explain.
    """
    actions = _actions(one)
    if (
        len(one) != len(other)
        or not actions
        or any(name not in trace for trace in (one, other) for name in (*actions, *RECOMPUTED))
    ):
        return None
    chosen = np.all([_equal(one[name].to_numpy(), other[name].to_numpy(), TOLERANCE) for name in actions], axis=0)
    if chosen.all():
        return None
    row = int(np.argmin(chosen))
    same = all(
        np.allclose(one[name][:row], other[name][:row], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        for name in RECOMPUTED
    )
    return row if same else None


def compare(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 0.0) -> str | None:
    """Where two traces first differ, by more than `tolerance` (relative and absolute); None if nowhere.

    A record without any diagnostics, as of `leaderboards.simulate`, is compared by what it has.
    """
    if len(one) != len(other):
        return f"{len(one)} evaluations against {len(other)}"
    if {*one.columns, "action"} == {*TRACE_COLUMNS, *_actions(one)}:
        other = other[[name for name in other.columns if name in TRACE_COLUMNS or name in _actions(one)]]
    missing = set(one.columns) ^ set(other.columns)
    if missing:
        return f"column {min(missing)} is in one trace only"
    first: tuple[int, str] | None = None
    for name in one.columns:
        if name in CLOCK:
            continue
        equal = _equal(one[name].to_numpy(), other[name].to_numpy(), tolerance)
        if not equal.all():
            row = int(np.argmin(equal))
            if first is None or row < first[0]:
                first = (row, name)
    if first is None:
        return None
    row, name = first
    a, b = (trace[name].iloc[row : row + 1].tolist()[0] for trace in (one, other))  # numbers of Python
    hint = " (does it draw from self.rng alone?)" if name in _actions(one) else ""
    return f"{name} differs first at t = {row + 1}: {a!r} against {b!r}{hint}"


def other_instance(run: RunEntry, facts: Mapping[str, float], data: InstanceData, exact: bool) -> str | None:
    """Which of the facts and data that a record states of its instance are others; None if none is.

    Args:
        run: The record.
        facts: Facts of the instance that its spec names, which may differ by `TOLERANCE`.
        data: The data of that.
        exact: Whether the same loops of the same libraries computed both. Elsewhere the hash of an instance whose
            optimum is known is not compared: it is one of the last bits of the means. Of another it is stated, and
            scores depend on it.
    """
    for name in {**run.facts, **facts}:
        one, other = run.facts.get(name, math.nan), facts.get(name, math.nan)
        if not np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            return f"states another instance: {name} is {one!r}, and {other!r} here"
    stated, found = run.data.model_dump(mode="json"), data.model_dump(mode="json")
    for name in {**stated, **found}:
        is_rounded = name == "instance" and not exact and "optimum" in facts
        if stated.get(name) != found.get(name) and not is_rounded:
            return f"states another instance: {name} is {stated.get(name)!r:.80}, and {found.get(name)!r:.80} here"
    return None


def _actions(trace: pd.DataFrame) -> list[str]:
    """The columns that say what the agent chose."""
    return [name for name in trace.columns if name == "action" or name.startswith("action_")]


def otherwise_ended(before: RunEntry, now: RunEntry | None) -> Verdict:
    """The verdict on a run that does not end as its record says: `now` is how it ended here, None if not at all."""
    key = before.key
    if now is None:  # its record was left out, as of a run that this machine has not the memory for
        return Verdict(key, NOT_HERE, False, "it was begun and could not be played to its end")
    if lacks_data(now.status, now.reason):
        return Verdict(key, NOT_HERE, False, str(now.reason))
    if now.status == "crashed" and "ModuleNotFoundError" in str(now.reason).partition(": No module")[0]:
        return Verdict(key, NOT_HERE, False, str(now.reason))
    exact = before.origin.rounds_as(now.origin)
    return Verdict(key, "disagrees", exact, f"was {before.status}, is now {now.status}: {now.reason}")


def parted_after(evaluations: int) -> str:
    """How many evaluations two traces have in common, in words that go with every verdict."""
    return f"the same to evaluation {evaluations}, then apart" if evaluations else "apart from the first evaluation on"


def _judge(store: Store, again: Store, before: RunEntry, now: RunEntry) -> Verdict:
    key, exact = before.key, before.origin.rounds_as(now.origin)
    one, other = store.trace(key), again.trace(key)
    difference = compare(one, other)
    identical = difference is None
    if not identical and not exact:
        difference = compare(one, other, TOLERANCE)
    row = None if difference is None or exact else parting(one, other)
    if difference is not None and row is None:
        return Verdict(key, "disagrees", exact, difference)
    own = is_own_env(before.spec.env.id)
    fault = _unpaid(before, one) if own else other_instance(before, now.facts, now.data, exact)
    if fault is not None:
        return Verdict(key, "disagrees", exact, fault)
    if row is not None:
        text = parted_after(row)
    else:
        text = "identical" if identical else f"equal within {TOLERANCE:g} on another machine"
    if not own:
        text += (
            f"; {before.spec.env.id!r} is no environment of this project: rewards were not computed without the agent"
        )
    finals = (_finals(one), _finals(other)) if len(one) else None
    tie = None if row is None else (row, *(float(_regret(trace)[: row + 1].sum()) for trace in (one, other)))
    stated = before.origin.machine.loops
    lacks = "; ".join(stated) if stated is not None and stated != now.origin.machine.loops else ""
    return Verdict(key, "identical" if identical else "agrees", exact, text, finals, row is not None, tie, lacks)


def _unpaid(run: RunEntry, trace: pd.DataFrame) -> str | None:
    """What the environment does not pay for the actions of a record, or does not state; None if there is nothing."""
    if not len(trace):
        return None
    try:
        paid, facts, data = recompute(run.spec, trace)
    except Exception as error:  # whatever stepping through actions that may be invented raises
        return f"its environment does not take its actions: {' '.join(str(error).split())[:200]}"
    missing = [name for name in RECOMPUTED if name not in trace]
    if missing:
        return f"column {missing[0]} is missing"
    # A worker may have other loops than this process; for a change by less than this there is no gain.
    difference = compare(trace[list(RECOMPUTED)], paid, TOLERANCE)
    if difference is not None:
        return f"not what the environment pays for its actions: {difference}"
    return other_instance(run, facts, data, run.origin.rounds_as(origin()))


def _finals(trace: pd.DataFrame) -> dict[str, float]:
    """The metrics `SETTLED` at the end of a trace; where the optimum is unknown, regret is from a best mean of 0."""
    regret = _regret(trace)
    last = trace.iloc[-1]
    finals = float(regret.sum()), float(regret.min()), float(last["inference_regret"]), float(last["batch"])
    return dict(zip(SETTLED, finals, strict=True))


def _regret(trace: pd.DataFrame) -> Float[np.ndarray, " T"]:
    regret = trace["regret"].to_numpy(np.float64)
    return regret if np.isfinite(regret).all() else -trace["mean"].to_numpy(np.float64)


def _equal(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """Where numbers are equal within `tolerance`; whole ones, such as those of arms, are not rounded."""
    if tolerance and a.dtype.kind == b.dtype.kind == "f":
        return np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
