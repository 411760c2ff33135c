"""Text of pages: numbers, file names and shell commands."""

from __future__ import annotations

import base64
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from leaderboards.play.spec import Ref
from leaderboards.play.suite import AgentEntry, Suite, load_suite, source_of, suite_names
from leaderboards.score.scores import Block
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import Summary
from leaderboards.score.tasks import Task

# ---- numbers ----

NONE = "–"
BETWEEN = " – "
"""Parts the ends of an interval."""


def number(x: float, digits: int = 3) -> str:
    """`digits` significant digits, plain between 1e-3 and 1e5, else as 1.2e-05; a dash if unknown."""
    if x is None or not math.isfinite(x):
        return NONE
    if x == 0:
        return "0"
    size = math.floor(math.log10(abs(x)))
    if -4 < size < 5:
        return f"{x:.{max(digits - 1 - size, 0)}f}"
    return f"{x:.{digits - 1}e}"


def between(interval: Interval, digits: int = 3, values: Float[np.ndarray, "*shape"] | None = None) -> str:
    """The interval as "low – high" with the decimals of the estimate.

    Empty where the interval is not known or has no length.

    Args:
        interval: The interval.
        digits: Significant digits of the estimate.
        values: What it was made of: where none of them is below 0, it is cut there. None for values that cannot be.
    """
    if not interval.is_known or interval.low == interval.high:
        return ""
    low = max(interval.low, 0.0) if values is None or (values >= 0).all() else interval.low
    _, dot, decimals = number(interval.estimate, digits).partition(".")
    if "e" in decimals:
        return f"{number(low, 2)}{BETWEEN}{number(interval.high, 2)}"
    n_decimals = len(decimals) if dot else 0
    low_text = f"{low:.{n_decimals}f}" if low else "0"
    return f"{low_text}{BETWEEN}{interval.high:.{n_decimals}f}"


def rounded(x: float, digits: int = 4) -> float | None:
    """`x` to `digits` significant digits for JSON, which has no NaN."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


def rounded_each(arrays: Sequence[np.ndarray]) -> list[list[float | None]]:
    """`rounded` of the numbers of many arrays."""
    return [[rounded(x) for x in values.tolist()] for values in arrays]


def packed_each(arrays: Sequence[np.ndarray]) -> list[Any]:
    """Numbers for scripts of many, each array in single precision and base64: a tenth of the time of digits.

    `static/charts.js` reads them. Where single precision has no such number all stay lists, rounded.
    """
    if not arrays:
        return []
    x = np.concatenate([values.ravel() for values in arrays]).astype(np.float64, copy=False)
    size = np.abs(x[np.isfinite(x) & (x != 0)])
    if size.size and not (size.min() > 1e-37 and size.max() < 1e37):
        return rounded_each([values.ravel() for values in arrays])
    content = np.where(np.isfinite(x), x, np.nan).astype("<f4").tobytes()
    ends = (4 * np.cumsum([values.size for values in arrays])).tolist()
    return [base64.b64encode(content[start:stop]).decode() for start, stop in zip([0, *ends], ends)]


def sort_key(x: float | str) -> str:
    """A number to sort by, as short as tells it from its neighbours, as scripts read it; text as it is."""
    return x if isinstance(x, str) else f"{x:.7g}".replace("inf", "Infinity")


def moment(seconds: float) -> str:
    """Seconds since 1970 as a date and time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def span(low: int, high: int) -> str:
    """Ranks "2" or "2–4"."""
    return str(low) if low == high else f"{low}–{high}"


def duration(seconds: float) -> str:
    """Seconds as µs, ms or s."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{number(seconds / scale)} {unit}"
    return f"{number(seconds * 1e6)} µs"


def duration_between(interval: Interval) -> str:
    """The interval of a time as "low – high"; empty where it is not known."""
    return f"{duration(max(interval.low, 0.0))} – {duration(interval.high)}" if interval.is_known else ""


def size(n: float) -> str:
    """Bytes as B, KiB, MiB or GiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= scale:
            return f"{number(n / scale)} {unit}"
    return f"{n:.0f} B"


def signed(x: float, plus: bool = True) -> str:
    """A difference with its sign, the minus as wide as a digit."""
    text = number(x)
    if text.startswith("-"):
        return f"\N{MINUS SIGN}{text[1:]}"
    return f"+{text}" if plus and x > 0 else text


def percent(x: float) -> str:
    """A relative difference in whole per cent with its sign."""
    if not math.isfinite(x):
        return NONE
    return f"{percent:+d}%".replace("-", "\N{MINUS SIGN}") if (percent := round(100 * x)) else "0%"


# ---- file names ----


def file_names(kind: str, names: Iterable[str]) -> dict[str, str]:
    """A file name for each name: plain lower-case ASCII, unique whatever the names are."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        stem = "-".join([kind, *re.findall(r"[a-z0-9]+", name.lower())])[:80]
        number, file = 2, stem
        while file in taken:
            file, number = f"{stem}-{number}", number + 1
        taken.add(file)
        found[name] = f"{file}.html"
    return found


# ---- commands ----


def suite_command(summary: Summary, directory: Path | None = None) -> str | None:
    """The command that plays a folder: its suite, with the agents that were added, and against the board if one is.

    Agents that `--agent` cannot name, since they have settings or a label of their own, are played from Python.

    Args:
        summary: The folder, reduced.
        directory: Where it is; None for the folder that the suite is played into by default.

    Returns:
        A shell command; None for a folder of single runs or a board's page without agents of its own, for a suite given
        in Python, or if objects given in Python were played.
    """
    suite, against = summary.suite, summary.against
    if suite is None:
        return None
    source, further = source_of(suite), _further_agents(summary, suite)
    played = suite.agents if against is None else further
    if not (source and played) or not all(entry.ref.rebuildable for entry in (*suite.environments, *played)):
        return None
    out = f"results/{suite.name}" if directory is None else str(directory)
    if all(not entry.kwargs and entry.ref.label in (Ref(entry.id).label, entry.id) for entry in further):
        words = ["gpbandit", "run", source, *(word for entry in further for word in ("--agent", entry.id))]
        words += [] if against is None else ["--against", against]
        return shlex.join([*words, "--out", out])
    agents = ", ".join(f"{_literal(entry.ref.label)}: {_pair(entry.ref)}" for entry in further)
    board = "" if against is None else f", against={_literal(against)}"
    call = f"run_suite({_literal(source)}, {{{agents}}}, out={_literal(out)}{board})"
    return f"python -c {shlex.quote(f'from leaderboards import run_suite; {call}')}"


def _further_agents(summary: Summary, suite: Suite) -> list[AgentEntry]:
    """The agents of a folder that its suite, as it comes with the package, or its board does not list."""
    if summary.against is not None:
        own = {summary.agents[name].key for name in summary.own}
        return [entry for entry in suite.agents if entry.ref.key in own]
    source = source_of(suite)
    if summary.rivals or source not in suite_names():  # a board, or a file that may list them
        return []
    listed = {entry.ref.key for entry in load_suite(source).agents}
    return [entry for entry in suite.agents if entry.ref.key not in listed]


def row_command(task: Task, agent: Ref, blocks: tuple[Block, ...]) -> str | None:
    """The command that repeats the runs of one row and prints their cumulative regret.

    Returns:
        A shell command; None if the environment or the agent was given as an object, which no text can rebuild, or the
        environment is a level of a grid, whose streams `run` does not know.
    """
    if not (task.env.rebuildable and agent.rebuildable and blocks) or task.env.apart:
        return None
    settings = [f"horizon={task.horizon}"]
    if task.feedback != "on_request":
        settings.append(f"feedback={_literal(task.feedback)}")
    if task.members:  # each repetition has a member of its own: its environment is that of `env` with `m[i]`
        played = [task.members[block] for block in sorted(blocks)]
        members = [one for i, one in enumerate(played) if one not in played[:i]]
        turns = [(r, seed, members.index(task.members[seed, r])) for seed, r in sorted(blocks)]
        env = f"({_literal(task.env.id)}, {{**{_literal(dict(task.env.kwargs))}, **m[i]}})"
        call = f"run({env}, {_pair(agent)}, r, {', '.join([*settings, 'seed=s'])})"
        return _python(f"m = {_literal(members)}; [print(r, {call}.trace.regret.sum()) for r, s, i in {turns}]")
    seeds, repetitions = (sorted(set(values)) for values in zip(*blocks))
    n = len(repetitions)
    loops = f"for r in {f'range({n})' if repetitions == list(range(n)) else repetitions}"
    if seeds != [0]:
        settings.insert(1, f"seed={seeds[0]}" if len(seeds) == 1 else "seed=s")
        loops += "" if len(seeds) == 1 else f" for s in {seeds}"
    call = f"run({_pair(task.env)}, {_pair(agent)}, r, {', '.join(settings)})"
    return _python(f"[print(r, {call}.trace.regret.sum()) {loops}]")


def _python(code: str) -> str:
    return f"python -c {shlex.quote(f'from leaderboards import run; {code}')}"


def _pair(ref: Ref) -> str:
    return f"({_literal(ref.id)}, {_literal(dict(ref.kwargs))})" if ref.kwargs else _literal(ref.id)


def _literal(value: Any) -> str:
    """A Python literal with double quotes, so that single quotes can go around the code."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)
