"""Random streams keyed by their purpose.

A stream belongs to (root seed, environment as it is built, repetition, name). Neither the agent nor the horizon nor the
feedback model enters, so in repetition r all agents face the same function, noise, delays and costs, and differences
between agents are paired (common random numbers). Distinct keys give independent streams: the key is hashed into the
entropy of a `SeedSequence`, never added to a seed.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np

from leaderboards.play.spec import RunSpec, canonical_json

__all__ = ["env_seed", "generator", "keyed", "stream"]

_SEED_BITS = 63  # what fits a signed 64-bit integer, which seeds are stored as


def stream(spec: RunSpec, name: str) -> np.random.SeedSequence:
    """The stream `name` of the repetition that `spec` belongs to."""
    return _sequence(_key(spec, name))


def generator(spec: RunSpec, name: str) -> np.random.Generator:
    """A generator on the stream `name`."""
    return np.random.Generator(np.random.PCG64(stream(spec, name)))


def keyed(key: list[Any]) -> np.random.Generator:
    """A generator that belongs to JSON values."""
    return np.random.Generator(np.random.PCG64(_sequence(canonical_json(key))))


def _key(spec: RunSpec, name: str) -> str:
    return f"[{spec.seed},{spec.built.key},{spec.repetition},{canonical_json(name)}]"


def _sequence(key: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))


def env_seed(spec: RunSpec) -> int:
    """The integer that `env.reset(seed=...)` takes: 63 bits of the stream `"env"`."""
    return _env_seed(_key(spec, "env"))


@functools.lru_cache(maxsize=4096)
def _env_seed(key: str) -> int:
    """The same for all agents of a board, whose runs share their instances."""
    return int(_sequence(key).generate_state(1, np.uint64)[0] >> (64 - _SEED_BITS))
