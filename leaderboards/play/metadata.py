"""What the metadata of a results file have to say, checked before anyone relies on it."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from leaderboards.play.record import STATUSES
from leaderboards.play.spec import RunSpec

__all__ = ["FIELDS", "check_origin", "check_run"]

_NUMBER = (int, float)
_TEXT = (str, type(None))
FIELDS: dict[str, tuple[type, ...]] = {
    "key": (str,),
    "spec": (dict,),
    "status": (str,),
    "reason": _TEXT,
    "error": _TEXT,
    "seconds": _NUMBER,
    "tries": (int,),
    "resumed": (int,),
    "finished": _NUMBER,
    "seeds": (dict,),
    "facts": (dict,),
    "data": (dict,),
    "columns": (list,),
    "start": (int,),
    "stop": (int,),
}
"""What a file says of each of its runs."""
_ORIGIN: dict[str, tuple[type, ...]] = {
    "gpbandit_envs": (str,),
    "commit": _TEXT,
    "python": (str,),
    "libraries": (dict,),
    "machine": (dict,),
}
_ORIGIN_TEXTS = {"libraries": ("numpy", "scipy"), "machine": ("system", "arch", "cpu")}


def check_run(run: dict[str, Any], rows: int, schema: pa.Schema) -> None:
    """Check that the entry of a run in a file of so many `rows` has all that readers look at.

    One file that lacks some must not be what stops them.

    Raises:
        KeyError: if a field is missing.
        TypeError: if one is of another type.
        ValueError: if fields contradict each other or the file.
    """
    for name, kinds in FIELDS.items():
        _expect(name, run[name], kinds)
    if not (math.isfinite(run["seconds"]) and math.isfinite(run["finished"])):
        raise ValueError(f"expected finite times, got {run['seconds']} s, finished at {run['finished']}")
    spec = RunSpec.from_dict(run["spec"])
    for side in ("env", "agent"):
        _expect(f"{side}.label", run["spec"][side]["label"], (str,))
    if spec.key != run["key"]:
        raise ValueError(f"key {run['key']} does not belong to its spec, whose key is {spec.key}")
    if run["status"] not in STATUSES:
        raise ValueError(f"unknown status {run['status']!r}")
    if not 0 <= run["start"] <= run["stop"] <= rows:
        raise ValueError(f"rows {run['start']} to {run['stop']} of {rows}")
    if run["status"] == "done" and run["stop"] - run["start"] != spec.horizon:
        raise ValueError(f"done with {run['stop'] - run['start']} rows, horizon {spec.horizon}")
    for name in run["columns"]:
        if schema.get_field_index(name) < 0:
            raise ValueError(f"no column {name!r} in the file")
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise TypeError(f"column {name}: expected numbers, got {kind}")


def check_origin(origin: dict[str, Any]) -> None:
    """Check that it says which versions, commit and machine the runs are of; raises as `check_run` does."""
    for name, kinds in _ORIGIN.items():
        _expect(f"origin.{name}", origin[name], kinds)
    for part, names in _ORIGIN_TEXTS.items():
        for name in names:
            _expect(f"origin.{part}.{name}", origin[part][name], (str,))


def _expect(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{name}: expected {' or '.join(kind.__name__ for kind in kinds)}, got {value!r:.80}")
