from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.show.watch import Watcher, watch
from leaderboards.store.store import Store
from tests.leaderboards.folders import Failure, folder, record, trace

ENV = Ref("GPBandit/RKHS-v0")


def text_of(directory: Path) -> tuple[str, bool]:
    view, complete = Watcher(directory).update()
    console = Console(file=io.StringIO(), width=100)
    console.print(view)
    return console.file.getvalue(), complete  # type: ignore[attr-defined]


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
    assert "6 done, 3 crashed of 12" in text  # of the suite
    lines = [line.split() for line in text.splitlines()]
    order = [line[0] for line in lines if line and line[0] in ("Uniform", "GP-UCB", "[bold]evil")]
    assert order == ["GP-UCB", "[bold]evil", "Uniform"]
    assert next(line for line in lines if line and line[0] == "Uniform")[1:] == ["1.000", "3"]
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
    console = Console(file=io.StringIO(), width=100)
    console.print(view)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "4 done of 10" in text
    assert f"about {6 * (now - first) / 4:.0f} s left" in text
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


def test_where_there_is_no_terminal_the_view_is_printed_once(tmp_path: Path) -> None:
    folder(tmp_path, [ENV], [Ref("Uniform")], 1)
    console = Console(file=io.StringIO(), width=100)
    watch(tmp_path, console=console)
    assert "1 done" in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="interval: expected"):
        watch(tmp_path, interval=0)


def test_runs_from_before_the_suite_was_edited_are_not_ranked(tmp_path: Path) -> None:
    agents = [Ref("Uniform"), Ref("GP-UCB")]
    folder(tmp_path, [ENV], agents, 3, T=20)
    folder(tmp_path, [ENV], agents, 2, T=60)
    Store(tmp_path).write_suite(suite(4, "Uniform", "GP-UCB"))
    lines = [line.split() for line in text_of(tmp_path)[0].splitlines()]
    assert next(line for line in lines if line and line[0] == "Uniform")[1:] == ["1.000", "2"]


BOX = Ref("GPBandit/Branin-v0")


def boxes(directory: Path, agents: tuple[str, ...], repetitions: int = 3, envs: tuple[Ref, ...] = (BOX,)) -> Store:
    store = Store(directory)
    for env in envs:
        for power, agent in enumerate(agents):
            for repetition in range(repetitions):
                frame = trace(60, power / len(agents), np.random.default_rng(repetition))
                frame = frame.rename(columns={"action": "action_0"}).astype({"action_0": np.float64})
                store.write(record(env, Ref(agent), repetition, 60, frame=frame))
    return store


def test_boxes_are_ranked_against_random(tmp_path: Path) -> None:
    boxes(tmp_path, ("Random", "UHE-BO", "Portfolio"))
    text = text_of(tmp_path)[0]
    assert "regret ratio so far" in text
    lines = [line.split() for line in text.splitlines()[-3:]]
    assert [line[0] for line in lines] == ["Portfolio", "UHE-BO", "Random"]
    assert lines[-1] == ["Random", "1.000", "3"]


def test_without_a_reference_agents_are_ranked_by_regret(tmp_path: Path) -> None:
    boxes(tmp_path, ("MAP-UCB", "UHE-BO"))
    text = text_of(tmp_path)[0]
    assert "cumulative regret so far" in text
    assert [line.split()[0] for line in text.splitlines()[-2:]] == ["UHE-BO", "MAP-UCB"]


def test_classes_of_tasks_have_a_table_each(tmp_path: Path) -> None:
    boxes(tmp_path, ("Random", "UHE-BO"))
    folder(tmp_path, [ENV], [Ref("Random"), Ref("BBKB")], 2)
    text = text_of(tmp_path)[0]
    assert text.index("so far: boxes") < text.index("UHE-BO") < text.index("so far: arms") < text.index("BBKB")
    assert text.count("Random") == 2


def test_the_counts_of_runs_have_a_line_of_their_own(tmp_path: Path) -> None:
    folder(tmp_path, [ENV], [Ref("Uniform"), Ref("BBKB")], 4, failures={("RKHS", "BBKB"): ("skipped", "no", None)})
    Store(tmp_path).write_suite(suite(400, "Uniform", "BBKB"))
    console = Console(file=io.StringIO(), width=80)
    console.print(Watcher(tmp_path).update()[0])
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any(line.startswith(("4 done, 4 skipped of 800", "4 skipped, 4 done of 800")) for line in lines)


@pytest.mark.parametrize("n_tasks", [5, 14])
def test_the_count_is_whole_in_a_narrow_terminal(tmp_path: Path, n_tasks: int) -> None:
    envs = tuple(Ref("GPBandit/Branin-v0", {"noise_std": i}, f"a long label of task {i}") for i in range(n_tasks))
    boxes(tmp_path, ("Random", "Some optimiser with a long name"), 8, envs)
    console = Console(file=io.StringIO(), width=80)
    console.print(Watcher(tmp_path).update()[0])
    text = console.file.getvalue()  # type: ignore[attr-defined]
    ends = [line.split()[-1] for line in text.splitlines() if line.startswith(("Random", "Some"))]
    assert ends == [f"{8 * n_tasks}"] * 2
    assert text.count("1.000") == (n_tasks if n_tasks == 5 else 0), "numbers are whole too"
    assert "2.00" in text
