"""The spec of a run: a frozen record with a canonical JSON form, whose hash is the run's key and file name.

Random streams are keyed by their purpose: root seed, environment as it is built, repetition and name. Neither the agent
nor the horizon nor the feedback model enters, so in repetition r all agents face the same function, noise, delays and
costs, and differences between agents are paired (common random numbers). Distinct keys give independent streams: the
key is hashed into the entropy of a `SeedSequence`, never added to a seed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from gpbandit_envs.arguments import MANY, as_count
from gpbandit_envs.channels import as_channel
from gpbandit_envs.code_digest import code_digest
from gpbandit_envs.registry import OWN
from leaderboards.text import visible

LONGEST_NAME = 200
"""Most characters of a label or of a column's name, which stands in hundreds of places of the pages."""

MOST_RUNS = 1_000_000
"""Most runs of a suite: the keys of so many take half a minute."""

OF_NO_FUNCTION = ("noise", "noise_std", "corruption", "misspecification")
"""Arguments of environments on which their functions do not depend: a grid of them has the same ones at each level."""

_KEY_LENGTH = 32  # hexadecimal digits: 128 bits
_EXACT = 2.0**53
_SEED_BITS = 63  # what fits a signed 64-bit integer, which seeds are stored as
_LARGEST_SEED = 2**128 - 1  # the entropy that NumPy's SeedSequence draws


@dataclass(frozen=True)
class Ref:
    """An environment or an agent by name: all that is needed to build it.

    Attributes:
        id: Registered id, or `"package.module:Class"` for an agent that is not registered.
        kwargs: Keyword settings as JSON values; an object without a JSON form is described by its type and repr.
        label: Name on the page; by default the id without namespace and version. It is no part of the identity.
            Invisible characters in it are written as escapes.
        apart: Those of the kwargs that enter no random stream, since a grid goes through them.

    Raises:
        TypeError: if id or label are no text, or the kwargs no mapping from text to values.
        ValueError: if the kwargs hold NaN, infinity or lone surrogates, which JSON has no word for; if id or label are
            too long, or the id holds invisible characters.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    label: str = ""
    apart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("id", "label"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: expected str, got {getattr(self, name)!r}")
            if len(getattr(self, name)) > LONGEST_NAME:
                got = f"{len(getattr(self, name)):,} that begin with {getattr(self, name)[:20]!r}"
                raise ValueError(f"{name}: expected at most {LONGEST_NAME} characters, got {got}")
        if not isinstance(self.kwargs, Mapping) or not all(isinstance(name, str) for name in self.kwargs):
            raise TypeError(f"kwargs: expected a mapping from names to values for {self.id!r}, got {self.kwargs!r}")
        if visible(self.id) != self.id or "\n" in self.id or "\t" in self.id:
            raise ValueError(f"id: expected no invisible characters, got {self.id!r}")
        object.__setattr__(self, "kwargs", MappingProxyType(describe(dict(self.kwargs))))
        try:
            json.dumps(dict(self.kwargs), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(f"kwargs: expected text without lone surrogates for {self.id!r}") from None
        try:
            canonical_json(self.identity)
        except ValueError:
            raise ValueError(f"kwargs: expected finite numbers for {self.id!r}, got {dict(self.kwargs)!r}") from None
        label = self.label or re.sub(r"-v\d+\Z", "", self.id.rpartition("/")[2].rpartition(":")[2])
        object.__setattr__(self, "label", visible(" ".join(label.splitlines())))
        object.__setattr__(self, "apart", tuple(self.apart))

    def __reduce__(self) -> tuple[Any, ...]:
        return Ref, (self.id, dict(self.kwargs), self.label, self.apart)

    @property
    def identity(self) -> dict[str, Any]:
        """Id and arguments, without the label."""
        return {"id": self.id, "kwargs": dict(self.kwargs), **({"apart": list(self.apart)} if self.apart else {})}

    @functools.cached_property
    def key(self) -> str:
        """Canonical JSON of the identity: equal texts for the same environment or agent."""
        return canonical_json(self.identity)

    @functools.cached_property
    def drawn(self) -> str:
        """The key of what its random streams belong to: the same without the arguments that are `apart`."""
        if not self.apart:
            return self.key
        return Ref(self.id, {name: value for name, value in self.kwargs.items() if name not in self.apart}).key

    @property
    def rebuildable(self) -> bool:
        """Whether another process can build it from id and kwargs alone; not so for an object given in Python."""
        given = self.id.startswith(("object:", f"{OWN}/")) or "#" in self.id
        return not given and "$object" not in json.dumps(self.identity)

    def to_dict(self) -> dict[str, Any]:
        """JSON form, from which `Ref(**d)` is the same again."""
        return {**self.identity, "label": self.label}


_NO_MEMBER: Mapping[str, Any] = MappingProxyType({})
_RANGES = (("repetition", 0, MANY), ("horizon", 1, MANY), ("seed", 0, _LARGEST_SEED))


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The spec of one run: environment, agent, horizon, seed, repetition and feedback model.

    Attributes:
        env: The environment.
        agent: The agent.
        repetition: Number of the repetition, from 0; it selects the instance, its noise and the agent's randomness.
        horizon: Number of evaluations `T`.
        seed: Root seed of all streams.
        feedback: When feedback arrives, as text; see `gpbandit_envs.channels`.
        member: Further settings of the environment in this repetition, of a task that is a family of environments;
            empty for any other task.

    Raises:
        TypeError: if the member is no mapping.
        ValueError: naming the field that is out of range.
    """

    env: Ref
    agent: Ref
    repetition: int
    horizon: int
    seed: int = 0
    feedback: str = "on_request"
    member: Mapping[str, Any] = field(default_factory=dict, hash=False)
    _member: str = field(init=False, repr=False, compare=False)  # its canonical JSON

    def __post_init__(self) -> None:
        if not isinstance(self.member, Mapping) or not all(isinstance(name, str) for name in self.member):
            raise TypeError(f"member: expected a mapping from names to values, got {self.member!r}")
        if both := [name for name in self.member if name in self.env.kwargs]:
            raise ValueError(f"member: expected settings that {self.env.id!r} does not have yet, got {both[0]!r}")
        member, text = _NO_MEMBER, ""
        if self.member:
            member, text = _shared_member(self.env.id, json.dumps(self.member, default=describe))
        object.__setattr__(self, "member", member)
        object.__setattr__(self, "_member", text)
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if type(value) is int and least <= value <= most:
                continue
            object.__setattr__(self, name, as_count(name, value, least, most))
        object.__setattr__(self, "feedback", as_channel(self.feedback).text)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunSpec.from_dict, (self.to_dict(),)

    @functools.cached_property
    def built(self) -> Ref:
        """The environment that is built for the run: `env` with the settings of its member."""
        return _built(self.env, json.dumps(dict(self.member))) if self.member else self.env

    @functools.cached_property
    def key(self) -> str:
        """First 128 bits of the SHA-256 of the canonical JSON, in hexadecimal; labels do not enter."""
        # Put together from what thousands of runs share; the names are in order.
        member = f'"member":{self._member},' if self._member else ""
        text = (
            f'{{"agent":{self.agent.key},"env":{self.env.key},"feedback":{json.dumps(self.feedback)},'
            f'"horizon":{self.horizon},{member}"repetition":{self.repetition},"seed":{self.seed}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def task(self) -> str:
        """The `task_key` of the run, which is the same for all members of a family."""
        return task_key(self.env, self.horizon, self.feedback)

    @property
    def pair(self) -> str:
        """Text that is equal for all repetitions and seeds of one agent on one task."""
        return f"{self.task} {self.agent.key}"

    @property
    def rebuildable(self) -> bool:
        """Whether another process can play the same run from the spec alone."""
        return self.built.rebuildable and self.agent.rebuildable

    def to_dict(self) -> dict[str, Any]:
        """JSON form, of which `from_dict` is the inverse."""
        return {
            "env": self.env.to_dict(),
            "agent": self.agent.to_dict(),
            "repetition": self.repetition,
            "horizon": self.horizon,
            "seed": self.seed,
            "feedback": self.feedback,
            **({"member": dict(self.member)} if self.member else {}),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> RunSpec:
        """The spec whose JSON form is `d`.

        Raises:
            TypeError: for missing or unknown fields.
            ValueError: for values out of range.
        """
        return cls(**{**d, "env": _shared_ref(json.dumps(d["env"])), "agent": _shared_ref(json.dumps(d["agent"]))})


@functools.lru_cache(maxsize=4096)
def _shared_ref(text: str) -> Ref:
    """The ref with this JSON form: thousands of runs share a few environments and agents."""
    return Ref(**json.loads(text))


@functools.lru_cache(maxsize=4096)
def _shared_member(id: str, text: str) -> tuple[Mapping[str, Any], str]:
    """The settings with this JSON form, which all agents of a board share, and their canonical JSON."""
    found = Ref(id, json.loads(text)).kwargs
    return found, canonical_json(found)


@functools.lru_cache(maxsize=4096)
def _built(env: Ref, member: str) -> Ref:
    """An environment with the settings of a member, in JSON."""
    return Ref(env.id, {**env.kwargs, **json.loads(member)}, env.label, env.apart)


def task_key(env: Ref, horizon: int, feedback: str) -> str:
    """Text that is equal for equal tasks: what agents are compared on, an environment, a horizon and a feedback."""
    return f"{env.key} {horizon} {feedback}"


def canonical_json(value: Any) -> str:
    """One text for equal values: keys sorted, no spaces, whole floats written as integers.

    Raises:
        ValueError: for NaN and infinities, which JSON has no word for.
    """
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def describe(value: Any) -> Any:
    """`value` as JSON values; NumPy scalars and arrays become numbers and lists, other objects their type and repr.

    Objects whose repr is the same for different ones have a hash of what they hold, too.
    """
    if isinstance(value, Mapping):
        return {str(name): describe(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, str | bool | int | float | None):
        return value
    if isinstance(value, Iterable) and isinstance(value, list | tuple | set | frozenset):
        return [describe(entry) for entry in (value if isinstance(value, list | tuple) else sorted(value))]
    kind, said = type(value), repr(value)
    plain = re.sub(r" at 0x[0-9a-f]+", "", said)
    found = {"$object": f"{kind.__module__}:{kind.__qualname__}", "repr": plain}
    # Where its repr says where it is, or is cut short, two that differ say the same.
    return found if plain == said and "..." not in said else {**found, "digest": code_digest(value)}


def _whole(value: Any) -> Any:
    """Write 5.0 as 5: both are the same setting and must have the same key."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_whole(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: _whole(entry) for name, entry in value.items()}
    return value


# ---- random streams ----


def generator(spec: RunSpec, name: str) -> np.random.Generator:
    """A generator on the stream `name` of the repetition that `spec` belongs to."""
    return np.random.Generator(np.random.PCG64(_sequence(_key(spec, name))))


def keyed(key: list[Any]) -> np.random.Generator:
    """A generator that belongs to JSON values."""
    return np.random.Generator(np.random.PCG64(_sequence(canonical_json(key))))


def _key(spec: RunSpec, name: str) -> str:
    return f"[{spec.seed},{spec.built.drawn},{spec.repetition},{canonical_json(name)}]"


def _sequence(key: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))


def env_seed(spec: RunSpec) -> int:
    """The integer that `env.reset(seed=...)` takes: 63 bits of the stream `"env"`."""
    return _env_seed(_key(spec, "env"))


@functools.lru_cache(maxsize=4096)
def _env_seed(key: str) -> int:
    """The same for all agents of a board, whose runs share their instances."""
    return int(_sequence(key).generate_state(1, np.uint64)[0] >> (64 - _SEED_BITS))
