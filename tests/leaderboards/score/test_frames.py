"""The ranking of anybody's frame: as that of a results folder of the same scores, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leaderboards
from leaderboards.api.results import Results
from leaderboards.play.spec import Ref
from leaderboards.score.rankings import task_ranking
from leaderboards.score.summary import summarise
from tests.leaderboards.folders import folder

ENVS = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")]


def scores_of(directory: Path) -> pd.DataFrame:
    """The regret ratios that a folder is ranked by, and a column that nobody asked for."""
    summary = summarise(leaderboards.Store(directory))
    rows = []
    for task in summary.tasks:
        found = task_ranking(summary, task)
        assert found is not None
        for (_, repetition), values in zip(found.blocks, found.Y):
            rows += [(task, name, repetition, value, "note") for name, value in zip(found.agents, values)]
    return pd.DataFrame(rows, columns=["env", "agent", "repetition", "value", "note"])


def test_a_frame_is_ranked_as_the_folder_of_the_same_scores(tmp_path: Path) -> None:
    folder(tmp_path, ENVS, repetitions=7)
    frame = scores_of(tmp_path)
    found, theirs = leaderboards.rank(frame), Results(tmp_path).ranking()
    ranked = ["rank", "best", "worst", "mean_rank", "low", "high"]
    pd.testing.assert_frame_equal(found[ranked], theirs[ranked])
    assert list(found.columns) == [*ranked, *dict.fromkeys(frame["env"])]
    shuffled = leaderboards.rank(frame.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(shuffled[ranked], found[ranked], check_like=True)
    mirrored = leaderboards.rank(frame.assign(value=-frame["value"]), larger_is_better=True)
    pd.testing.assert_frame_equal(mirrored[ranked], found[ranked])


def test_an_agent_that_lacks_a_repetition_comes_last_without_a_rank() -> None:
    rows = [("a", agent, r, float(i + r % 3)) for i, agent in enumerate("xyz") for r in range(6)]
    frame = pd.DataFrame(rows, columns=["env", "agent", "repetition", "value"])
    found = leaderboards.rank(frame[~((frame["agent"] == "x") & (frame["repetition"] == 5))])
    assert found.index.tolist() == ["y", "z", "x"]
    assert found["rank"].isna().tolist() == [False, False, True]
    assert found.loc["x", "a"] == pytest.approx(np.mean([0, 1, 2, 0, 1]))


def test_few_repetitions_have_means_and_no_ranks() -> None:
    rows = [("a", agent, r, float(i)) for i, agent in enumerate("xy") for r in range(5)]
    found = leaderboards.rank(pd.DataFrame(rows, columns=["env", "agent", "repetition", "value"]))
    assert found["rank"].isna().all()
    assert found["mean_rank"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="env"), "frame: expected the columns .*, got none named 'env'"),
        (lambda frame: frame.assign(value=np.nan), "frame: expected finite values"),
        (
            lambda frame: pd.concat([frame, frame]),
            "frame: expected one score .*, got two of 'x' on 'a' in repetition 0",
        ),
    ],
)
def test_what_is_no_frame_of_scores_is_refused(change: object, said: str) -> None:
    frame = pd.DataFrame({"env": ["a", "a"], "agent": ["x", "y"], "repetition": 0, "value": 1.0})
    with pytest.raises(ValueError, match=said):
        leaderboards.rank(change(frame))  # type: ignore[operator]
