"""`gpbandit watch`: what it says of a folder that is being written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leaderboards.cli.watch import Watcher
from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.store import Store
from tests.leaderboards.folders import Failure, folder

ENV = Ref("GPBandit/RKHS-v0")


def text_of(directory: Path) -> tuple[str, bool]:
    view, complete = Watcher(directory).update()
    return view.plain, complete


def suite(repetitions: int, *agents: str) -> Suite:
    values = {"name": "tiny", "horizon": 60, "repetitions": repetitions, "environments": [{"id": ENV.id}]}
    return parse_suite({**values, "agents": [{"id": name} for name in agents]})


def test_a_folder_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    text, complete = text_of(tmp_path / "later")
    assert "nothing yet" in text
    assert not complete


def test_what_is_done_what_failed_and_who_leads(tmp_path: Path) -> None:
    failures: dict[tuple[str, str], Failure] = {("RKHS", "BBKB"): ("crashed", "ValueError: no", None)}
    agents = [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB"), Ref("x:[bold]evil", label="[bold]evil")]
    folder(tmp_path, [ENV], agents, 3, failures=failures)
    Store(tmp_path).write_suite(suite(4, "Uniform", "GP-UCB", "BBKB"))
    text, complete = text_of(tmp_path)
    assert "6 done, 3 crashed of 12 runs" in text  # of the suite
    places = [line.split("  (score")[0].split()[-1] for line in text.splitlines() if "(score" in line]
    assert places == ["GP-UCB", "[bold]evil", "Uniform"]
    assert not complete, "a run that the suite did not ask for stands for none that it did"
    folder(tmp_path, [ENV], agents, 4, failures=failures)
    assert text_of(tmp_path)[1]


def test_pace_and_time_left(tmp_path: Path) -> None:
    folder(tmp_path, [ENV], [Ref("Uniform")], 4)
    store = Store(tmp_path)
    store.write_suite(suite(10, "Uniform"))
    runs = store.runs()
    now = float(runs["finished"].max()) + 20
    watcher = Watcher(tmp_path, clock=lambda: now)
    first = float((runs["finished"] - runs["seconds"]).min())
    assert watcher.speed(runs) == pytest.approx(4 / (now - first))
    view, complete = watcher.update()
    assert "4 done of 10" in view.plain
    assert f"about {6 * (now - first) / 4:.0f} s left" in view.plain
    assert not complete
    assert Watcher(tmp_path, clock=lambda: now + 1e6).speed(runs) == 0


def test_each_look_reads_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, [ENV], [Ref("Uniform")], 2)
    watcher = Watcher(tmp_path)
    watcher.update()
    asked: list[int] = []
    read = watcher.store.traces

    def counted(columns: list[str], keys: list[str]) -> Any:
        asked.append(len(keys))
        return read(columns, keys)

    monkeypatch.setattr(watcher.store, "traces", counted)
    watcher.update()
    folder(tmp_path, [ENV], [Ref("GP-UCB")], 3)
    watcher.update()
    assert asked == [3]


def test_runs_from_before_the_suite_was_edited_are_not_ranked(tmp_path: Path) -> None:
    agents = [Ref("Uniform"), Ref("GP-UCB")]
    folder(tmp_path, [ENV], agents, 3, T=20)
    folder(tmp_path, [ENV], agents, 2, T=60)
    Store(tmp_path).write_suite(suite(4, "Uniform", "GP-UCB"))
    text, _ = text_of(tmp_path)
    assert "4 done of 8 runs" in text
    assert "1 environment, 2 agents" in text
