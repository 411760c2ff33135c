"""An audit of one run: it is played again, and looked at from both sides at chosen times.

A look asks `predict` for the band at all arms (on a box, at fixed points of it), compares a sketched posterior with the
exact one, and counts the agent's bytes. The trace of what was played again is compared with the stored one, so that a
look which changed the agent, or a run that this machine cannot repeat, is known as such.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from jaxtyping import Float

from leaderboards.play.audits import StoredAudit
from leaderboards.play.replay import Replayed
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import generator
from leaderboards.play.verify import compare
from leaderboards.score.band import look_at_band, promise, stated_delta
from leaderboards.score.cell import thin
from leaderboards.score.memory import held_bytes
from leaderboards.score.sketch import look_at_sketch, sketched_posterior

__all__ = ["LOOKS", "SAMPLED", "probe"]

LOOKS = 30
"""Times at which a run is looked at, unless said otherwise."""

SAMPLED = 256
"""Arms at which a sketched variance is compared with the exact one, unless said otherwise; points of a box."""


def probe(
    spec: RunSpec,
    looks: int = LOOKS,
    sampled: int = SAMPLED,
    stored: pd.DataFrame | None = None,
    rounded: Collection[str] = (),
) -> StoredAudit:
    """Audit the run `spec`.

    Args:
        spec: The run.
        looks: At how many log-spaced times it is looked at, at least 2; every time if there are as many.
        sampled: At how many arms variances are compared; on a box, at how many points everything is.
        stored: The run's trace, to be compared with what is played again.
        rounded: Its columns that may differ by rounding.

    Returns:
        One row per look: `t`, `bytes`, and the columns of `leaderboards.score.band` and `leaderboards.score.sketch`.
        In `about`: `width`, `unpromised` (see `band.promise`), `delta` (the agent's, None if it has none), `no_band`
        and `no_sketch` (why there is none, "" if there is), `points` (where the band was looked at), `on_box`,
        `differs` (where the replay left the stored trace, "" if nowhere).

    Raises:
        ReplayError: if the run cannot be played again.
        ValueError: if a number is out of range, or a band is none.
    """
    if looks < 2 or sampled < 1:
        raise ValueError(f"looks, sampled: expected at least 2 and 1, got {looks!r} and {sampled!r}")
    rng = generator(spec, "audit")
    rows = []
    with Replayed.of(spec) as replayed:
        loop = replayed.loop
        agent, problem = loop.agent, loop.problem
        X, f = _points(replayed, sampled, rng)
        arms = np.zeros(0, np.int64)
        if problem.is_finite:
            arms = np.sort(rng.permutation(problem.n_arms)[:sampled])
        no_band = "the environment does not know its means" if f is None else ""
        for t in replayed.until(thin(spec.horizon, looks, "log")):
            band = None if f is None else agent.predict(X)
            no_band = no_band or ("" if band is not None else "the agent states no confidence band")
            looked = look_at_band(band, np.zeros(0) if f is None else f)
            rows.append({"t": t, "bytes": held_bytes(agent), **looked, **look_at_sketch(agent, arms)})
        differs = compare(stored, replayed.trace(), rounded=rounded) if stored is not None else None
        width, unpromised = promise(spec.agent, problem) if not no_band else ("", no_band)
        about: dict[str, Any] = {
            "width": width,
            "unpromised": unpromised,
            "delta": stated_delta(agent),
            "no_band": no_band,
            "no_sketch": "" if sketched_posterior(agent) is not None else "the agent has no sketched posterior",
            "points": len(X),
            "on_box": not problem.is_finite,
            "sampled": len(arms),
            "differs": differs or "",
        }
    return StoredAudit(spec.key, about, pd.DataFrame(rows))


def _points(
    replayed: Replayed, sampled: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "p d"], Float[np.ndarray, " p"] | None]:
    """Where the band is looked at, and the noise-free means there; None if they are not known."""
    loop = replayed.loop
    problem, env = loop.problem, loop.env.unwrapped
    if problem.arms is not None:
        X, actions = problem.arms, np.arange(problem.n_arms)
    else:
        X = actions = scipy.stats.qmc.Sobol(problem.dim, rng=rng).random_base2((sampled - 1).bit_length())
    if not loop.oracle.known:
        return X, None
    return X, np.asarray(env.mean(actions), np.float64)  # type: ignore[attr-defined]
