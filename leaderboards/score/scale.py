"""The scale of regret on an instance: its mean gap, which a uniform draw loses on average.

A record states it. Records of the first generation of boards do not: for them it is in `mean_gaps.json` by the hash of
the instance, which is one of its arms and means, or the instance is built again where that needs no data.
"""

from __future__ import annotations

import functools
import json
import logging
import math
from importlib import resources

from gpbandit_envs.registry import WITH_DATA
from leaderboards.play.build import is_own_env
from leaderboards.play.mean_gap import MEAN_GAP
from leaderboards.play.run import Oracle, instance_env
from leaderboards.play.spec import RunSpec
from leaderboards.score.instances import check_size
from leaderboards.store.run_file import RunEntry

__all__ = ["MEAN_GAPS", "MeanGaps", "instance_mean_gap"]

MEAN_GAPS = "mean_gaps.json"
"""File beside this module, by `python -m leaderboards.archive.mean_gaps`."""

_MOST_BUILT = 400  # instances of a folder: results of strangers may name many
_log = logging.getLogger("gpbandit")


class MeanGaps:
    """Mean gaps of the instances of a folder's runs."""

    def __init__(self) -> None:
        self._built: dict[tuple[str, int, int], float] = {}

    def of(self, run: RunEntry) -> float:
        """The mean gap of the instance of a run, in units of the reward; NaN where it is unknown or 0."""
        gap = run.facts.get(MEAN_GAP)
        if gap is None and run.data.instance is not None:
            gap = _known().get(run.data.instance)
        if gap is None:
            gap = self._rebuilt(run.spec)
        return gap if math.isfinite(gap) and gap > 0 else math.nan

    def _rebuilt(self, spec: RunSpec) -> float:
        if not spec.built.rebuildable or not is_own_env(spec.env.id) or spec.env.id in WITH_DATA:
            return math.nan
        key = spec.built.key, spec.seed, spec.repetition
        if key not in self._built:
            if len(self._built) >= _MOST_BUILT:
                return math.nan
            try:
                self._built[key] = instance_mean_gap(spec)
            except Exception as error:
                # Settings of an older version, which this one refuses, or too large an instance.
                _log.info("%s: its mean gap is unknown: %s", spec.env.label, error)
                self._built[key] = math.nan
        return self._built[key]


def instance_mean_gap(spec: RunSpec) -> float:
    """Build the instance of a run again and measure its mean gap; NaN where it has none.

    Raises:
        ValueError: if the instance is too large.
        Exception: whatever building the environment raises.
    """
    check_size(spec.built.kwargs)
    with instance_env(spec) as (env, problem):
        return Oracle.of(env, problem).facts().get(MEAN_GAP, math.nan)


@functools.cache
def _known() -> dict[str, float]:
    found: dict[str, float] = json.loads((resources.files("leaderboards.score") / MEAN_GAPS).read_text())
    return found
