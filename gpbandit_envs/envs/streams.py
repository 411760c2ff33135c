"""The random streams of an environment: one a purpose and an episode, all children of one seed."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

__all__ = ["Stream", "stream"]

Stream = Literal["function", "noise", "cost", "delay"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)


def stream(seed: int, episode: int, name: Stream) -> np.random.Generator:
    """The generator of stream `name` in an episode of an environment seeded with `seed`.

    It is the `name`-th child of the `episode`-th child of `SeedSequence(seed)`, as `SeedSequence.spawn` makes them,
    without the state: seeds, episodes and purposes never share a stream.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(episode, _STREAMS.index(name))))
