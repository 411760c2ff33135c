"""The file of an experiment: what was set up, and every question and answer in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.experiment.candidates import Candidates, as_frame
from agents.experiment.constraints import Linear, from_spec
from agents.experiment.parameters import Parameter
from agents.experiment.region import Region
from gpbandit_envs.arguments import shown
from gpbandit_envs.atomic import locked, written_whole
from gpbandit_envs.version import __version__

Event = dict[str, Any]
"""`{"ask": points}`, with `"fixed"` values where there were any; `{"tell": number, "outcome": y}`, where `y` is a dict
if there are several outcomes, or `{"tell": number, "failed": True}`, each with its `"point"` where that had not been
asked, or was weighed so, with `"sd"`, like `y`, where standard errors are known, and with `"correct"` where it takes
the place of what was told before; or `{"withdraw": number}`. Evaluations are numbered from 0, those in `data` left
out."""

_KEYS = {"ask": ("fixed",), "tell": ("outcome", "failed", "point", "correct", "sd"), "withdraw": ()}
_FORMAT = "gpbandit-envs experiment"
_SETUP = {
    *("parameters", "candidates", "log", "agent", "outcome", "minimise", "seed", "repeats", "on_failure"),
    *("horizon", "kernel", "noise_std", "prior_mean", "data"),
}
_SCHEMAS = (1, 2, 3)  # the last is written; the others have less, as neither targets nor corrections


def write(
    path: Path, choices: Region | Candidates, setup: Mapping[str, Any], events: list[Event], overwrite: bool
) -> Path:
    """Write an experiment, whole or not at all: what can be tried, its other arguments, and what came then.

    Raises:
        TypeError: if a setting of the policy has no JSON form.
        ValueError: unless `overwrite`, as `refuse_loss`.
        OSError: if the file cannot be read or written.
    """
    given: dict[str, Any] = {"parameters": None, "candidates": None, "log": []}
    if isinstance(choices, Region):
        by_name = {each.name: each for each in choices.parameters.all}
        given["parameters"] = [each.to_spec() for each in by_name.values()]
        constraints = [
            each.to_spec() if isinstance(each, Linear) else each.to_spec(by_name) for each in choices.constraints
        ]
        if constraints:
            given["constraints"] = constraints
    else:
        given["candidates"] = {name: [point[name] for point in choices.points] for name in choices.names}
        given["log"] = list(choices.log)
    content = {
        "format": _FORMAT,
        "schema": _SCHEMAS[-1],
        "written_by": __version__,
        "setup": {**given, **setup},
        "events": events,
    }
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except TypeError as error:
        raise TypeError(f"agent: expected settings with a JSON form, got {setup['agent'][1]!r} ({error})") from None
    with locked(path.parent):  # no other process writes between the look and the replacement
        if not overwrite:
            refuse_loss(path, events)
        with written_whole(path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    return path


def refuse_loss(path: Path, events: list[Event]) -> None:
    """Raise where writing an experiment with these events would lose what a file holds.

    Raises:
        ValueError: if the file is none of `write` and not empty, or its events are no beginning of these.
        OSError: if it cannot be read.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    there = (_content(path) or {}).get("events")
    if not isinstance(there, list):
        raise ValueError(
            f"path: expected a new file, or one written by Experiment.save, got {str(path)!r}; overwrite=True replaces "
            "it"
        )
    if there != events[: len(there)]:
        first = next(i for i, event in enumerate(there) if [event] != events[i : i + 1])
        told = sum(isinstance(event, dict) and "tell" in event for event in there)
        raise ValueError(
            f"path: expected a new file, or one whose events this experiment has too, got {str(path)!r} with "
            f"{len(there)} events ({told} told), which differ from event {first} on (counted from 0); "
            f"Experiment.load({str(path)!r}) goes on from there, overwrite=True replaces it"
        )


def check_event(event: Event) -> None:
    """Raise unless an event says one thing that happened, and has no other keys than belong to it."""
    verbs = [verb for verb in _KEYS if verb in event]
    if len(verbs) != 1:
        raise ValueError(f"expected exactly one of 'ask', 'tell' and 'withdraw', got {shown(event)}")
    allowed = (verbs[0], *_KEYS[verbs[0]])
    if not set(event) <= set(allowed):
        raise ValueError(f"expected no keys but {', '.join(map(repr, allowed))}, got {shown(event)}")


def _content(path: Path) -> dict[str, Any] | None:
    """What a file of `write` holds, whatever its version; None if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors write a byte order mark
        return content if content["format"] == _FORMAT else None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, TypeError, KeyError):
        return None


def read(path: Path) -> tuple[dict[str, Any], list[Event]]:
    """The arguments with which the experiment of a file was made, and what came then.

    Raises:
        ValueError: if the file is none of `write`, or of a later version, or was edited so that it makes no sense.
        OSError: if it cannot be read.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file written by Experiment.save, got a folder")
    if path.exists() and not path.is_file():  # which would never end
        raise ValueError(f"{path}: expected a file written by Experiment.save, got a device or a pipe")
    content = _content(path)
    if content is None:
        raise ValueError(f"{path}: expected a file written by Experiment.save")
    schema = content.get("schema")
    if schema not in _SCHEMAS:
        hint = f"; {__version__} is too old for it" if isinstance(schema, int) else ""
        raise ValueError(f"{path}: expected schema {' or '.join(map(str, _SCHEMAS))}, got {shown(schema)}{hint}")
    setup, events = content.get("setup"), content.get("events")
    if not isinstance(setup, dict) or set(setup) - {"constraints", "sd"} != _SETUP:
        raise ValueError(f"{path}: expected a setup with {', '.join(sorted(_SETUP))}, got {shown(setup)}")
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError(f"{path}: expected a list of events, got {shown(events)}")
    for name, kind in (("data", list), ("candidates", dict)):  # text would be the path of a file to read
        if not isinstance(setup[name], kind | None):
            raise ValueError(f"{path}: expected a {kind.__name__} as its {name}, got {shown(setup[name])}")
    try:
        columns = setup.pop("candidates")
        if columns is None:
            found = [Parameter.from_spec(spec) for spec in setup["parameters"]]
            setup["parameters"] = {parameter.name: parameter for parameter in found}
        else:
            outcomes = [setup["outcome"]] if isinstance(setup["outcome"], str) else setup["outcome"]
            # With a column for every outcome no other is taken for a slip in its name. Words that look like numbers
            # were meant: they are in the file.
            frame = as_frame("candidates", {**dict.fromkeys(outcomes), **columns})
            words = [name for name in columns if all(isinstance(value, str) for value in columns[name])]
            setup["parameters"] = frame.astype(dict.fromkeys(words, "category"))
        setup["constraints"] = [from_spec(spec) for spec in setup.get("constraints", ())]
        setup["data"] = setup["data"] or None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: its setup cannot be read ({type(error).__name__}: {error})") from None
    return setup, events
