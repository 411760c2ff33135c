"""Write the mean gaps of the instances on the package's boards whose records do not state them.

    python -m leaderboards.archive.mean_gaps

It needs the data of all tasks; `leaderboards.score.scale` reads the file.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from leaderboards.archive.read import board, board_names
from leaderboards.play.mean_gap import MEAN_GAP
from leaderboards.score.scale import MEAN_GAPS, instance_mean_gap

__all__ = ["mean_gaps"]


def mean_gaps() -> dict[str, float]:
    """Mean gap by the hash of the instance.

    Raises:
        DataError: if the data of a task cannot be had.
    """
    found: dict[str, float] = {}
    for name in board_names():
        for run in board(name).entries().values():
            if run.data.instance is not None and MEAN_GAP not in run.facts and run.data.instance not in found:
                found[run.data.instance] = float(f"{instance_mean_gap(run.spec):.9g}")
    return dict(sorted(found.items()))


if __name__ == "__main__":
    path = Path(str(resources.files("leaderboards.score"))) / MEAN_GAPS
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(mean_gaps(), indent=0) + "\n", encoding="utf-8")
