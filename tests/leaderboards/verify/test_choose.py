"""Which runs of a folder are played again: by row, and as a sample that follows from a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboards.play.spec import Ref
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.verify.choose import choose, drawn, sample
from tests.leaderboards.folders import folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    crashed = {("GPSample", "GP-UCB"): ("crashed", "agent: ValueError: x", None)}
    return folder(tmp_path, agents=[Ref("Uniform"), Ref("GP-UCB")], repetitions=3, failures=crashed)  # type: ignore[arg-type]


def test_rows_are_agents_on_environments_or_beginnings_of_keys(store: Store) -> None:
    def named(*rows: str) -> list[tuple[str, str]]:
        return [(store.spec(key).agent.label, store.spec(key).env.label) for key in choose(store, rows)]

    assert len(choose(store)) == 9, "three of the runs crashed"
    assert set(named("GP-UCB")) == {("GP-UCB", "RKHS")}
    assert set(named("Uniform")) == {("Uniform", "RKHS"), ("Uniform", "GPSample")}
    assert named("Uniform@RKHS") == named("Uniform@RKHS", "Uniform@RKHS") == [("Uniform", "RKHS")] * 3
    key = choose(store)[4]
    assert choose(store, [key[:10]]) == [key]
    for nothing in ("Nobody", "GP-UCB@GPSample", "Uniform@Branin"):
        with pytest.raises(ValueError, match=f"row: no run that is done is named '{nothing}'; agents are GP-UCB, Uni"):
            choose(store, [nothing])


def test_a_row_may_have_an_at_sign_in_its_label(tmp_path: Path) -> None:
    labels = ["UCB", "UCB@RKHS", "UCB @ 2"]
    agents = [Ref("GP-UCB", {"width": float(width)}, label) for width, label in enumerate(labels, 1)]
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=1)
    named = {row: [store.spec(key).agent.label for key in choose(store, [row])] for row in ("UCB @ 2", "UCB @ 2@RKHS")}
    assert set(map(tuple, named.values())) == {("UCB @ 2",)}
    assert sorted(store.spec(key).agent.label for key in choose(store, ["UCB@RKHS"])) == ["UCB", "UCB@RKHS"]


def test_a_folder_without_a_done_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run that is done"):
        choose(Store(tmp_path))


def test_a_sample_is_even_or_follows_from_a_text() -> None:
    keys = [f"{i:04x}" for i in range(100)]
    assert drawn(keys, None) == drawn(keys, 100) == drawn(keys, 101, "a") == keys
    assert drawn(keys, 3) == [keys[0], keys[50], keys[99]]
    for n in (1, 7, 99):
        chosen = drawn(keys, n, "a")
        assert len(set(chosen)) == n
        assert chosen == drawn(keys, n, "a") == drawn(keys[::-1], n, "a")
        assert set(chosen) <= set(drawn(keys, n + 1, "a"))
    assert drawn(keys, 7, "a") != drawn(keys, 7, "b")
    assert len(sample(keys, "a")) == 1
    with pytest.raises(ValueError, match="sample: expected at least 1, got 0"):
        drawn(keys, 0)
    with pytest.raises(ValueError, match=r"share: expected a number above 0 and at most 1, got 1\.5"):
        sample(keys, "a", 1.5)
