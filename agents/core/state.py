"""The state of an agent as bytes: every attribute exactly as it is, and the problem by name instead of by value.

`save` pickles the attributes of an agent, its random generator among them. Three rules make the copy exact:

- References that the attributes share stay shared.
- An array that is a view of another one stays a view of it, with its strides: writing to one still changes the other,
  and no sum is rounded differently because a copy has another memory layout.
- The problem, its arrays and its kernel are left out, as is every attribute that `not_saved` names. Wherever the
  state refers to one of these objects, `restore` puts in that of the agent it restores, which has been reset on the
  same problem.
"""

from __future__ import annotations

import io
import json
import pickle
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from gpbandit_envs.problem import Problem

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)  # equal values may be one object by chance


@runtime_checkable
class Saved(Protocol):
    """What is saved: an agent, which keeps the problem of the episode as `problem` or not at all."""

    not_saved: ClassVar[frozenset[str]]
    """Names of the attributes that are left out."""


def save(agent: Saved) -> bytes:
    """The attributes of `agent`.

    Raises:
        TypeError: if an attribute cannot be pickled; the message names it.
    """
    names = {id(outside): name for name, outside in _outside(agent).items()}
    attributes = {name: value for name, value in vars(agent).items() if name not in agent.not_saved}
    try:
        return _dumps(attributes, names)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(
            f"state_dict: attribute {_culprit(attributes, names)!r} of {type(agent).__name__} cannot be pickled "
            f"({error}); if `__init__` or `reset` sets it for good, name it in `not_saved`"
        ) from error


def restore(agent: Saved, state: bytes) -> None:
    """Give `agent` the attributes that `save` has written; it must have been reset on the same problem.

    Raises:
        ValueError: if the state refers to something that the agent or its problem lacks.
    """
    kept = {name: value for name, value in vars(agent).items() if name in agent.not_saved}
    attributes = _Reader(io.BytesIO(state), _outside(agent)).load()
    vars(agent).clear()
    vars(agent).update(kept, **attributes)


def digest(agent: Saved) -> str:
    """What tells apart the problems that a state may belong to: arms, kernel, noise, norm bound and prior mean.

    It is "" of an agent that keeps no problem.
    """
    problem = vars(agent).get("problem")
    if not isinstance(problem, Problem):
        return ""
    found = blake2b(digest_size=16)
    kernel = None if problem.kernel is None else problem.kernel.to_spec()
    numbers = [problem.dim, kernel, problem.noise_std, problem.norm_bound, problem.prior_mean]
    found.update(json.dumps(numbers, sort_keys=True, default=str).encode())
    for array in (problem.arms, problem.noise_stds):
        if array is not None:
            found.update(repr(array.shape).encode())
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _outside(agent: Saved) -> dict[str, object]:
    """The objects that a state refers to by name: the agent, attributes in `not_saved`, and those of the problem."""
    found: dict[str, object] = {"agent": agent}
    problem = getattr(agent, "problem", None)
    for prefix, owner, names in (("problem.", problem, None), ("agent.", agent, agent.not_saved)):
        for name, value in ({} if owner is None else vars(owner)).items():
            empty = isinstance(value, tuple) and not value  # there is one in all of Python: it refers to nothing
            if (names is None or name in names) and not isinstance(value, _PLAIN) and not empty:
                found[prefix + name] = value
    return found


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = names

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray or obj.size == 0 or obj.dtype.hasobject:
            return NotImplemented
        owner = obj
        while type(owner.base) is np.ndarray:
            owner = owner.base
        if owner is obj or owner.dtype.hasobject or not owner.flags.forc:
            return NotImplemented
        offset = obj.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return _view, (owner, obj.dtype, obj.shape, obj.strides, offset, obj.flags.writeable)


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: dict[str, object]) -> None:
        super().__init__(file)
        self._outside = outside

    def persistent_load(self, pid: Any) -> object:
        try:
            return self._outside[pid]
        except KeyError:
            raise ValueError(f"state: refers to {pid}, which is missing; was it saved on another problem?") from None


def _view(
    owner: np.ndarray, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], offset: int, writes: bool
) -> np.ndarray:
    view: np.ndarray = np.ndarray(shape, dtype, owner.ravel(order="K"), offset, strides)
    view.flags.writeable = writes
    return view


def _dumps(obj: object, names: dict[int, str]) -> bytes:
    file = io.BytesIO()
    _Writer(file, names).dump(obj)
    return file.getvalue()


def _culprit(attributes: dict[str, Any], names: dict[int, str]) -> str:
    for name, value in attributes.items():
        try:
            _dumps(value, names)
        except (pickle.PicklingError, TypeError, AttributeError):
            return name
    return "?"
