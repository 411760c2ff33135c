"""Environments that nobody could play are not counted, printed or drawn; cards say why nothing is ranked."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import leaderboards
from agents.exact.gp_ucb import GPUCB
from leaderboards.cli.ranking import _score_lines
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise, unfinished_runs
from leaderboards.show.overview import _cards
from leaderboards.show.paper import latex_table
from leaderboards.show.shared import Site
from tests.leaderboards.folders import AGENTS, Failure, folder, record

PLAYED, OTHER = Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")
NEEDS: Failure = ("skipped", "the agent needs kernel", None)
DATA: Failure = ("skipped", "without its data: no network", None)
CRASH: Failure = ("crashed", "ValueError: no", "Traceback")


def site(path: Path, failed: dict[str, Failure], agents: tuple[Ref, ...] = tuple(AGENTS), repetitions: int = 6) -> Site:
    failures = {(OTHER.label, label): failure for label, failure in failed.items()}
    return Site(summarise(folder(path, [PLAYED, OTHER], agents, repetitions, failures=failures)))


def labels(agents: tuple[Ref, ...] = tuple(AGENTS)) -> list[str]:
    return [each.label for each in agents]


def test_it_is_named_with_the_main_reason_and_is_nowhere_else(tmp_path: Path) -> None:
    first, *others = labels()
    found = site(tmp_path, {first: DATA, **dict.fromkeys(others, NEEDS)})
    assert list(found.summary.tasks) == list(found.rankings) == list(found.task_files) == ["RKHS"]
    assert found.summary.unplayed == {"GPSample": "the agent needs kernel" if len(others) > 1 else DATA[1]}
    assert "skipped" not in found.counts()
    assert len(unfinished_runs(found.summary)) == 0
    assert "GPSample" not in latex_table(found)
    lines = list(_score_lines(found.summary, "cumulative_regret"))
    assert lines[0] == f"nobody could play GPSample: {found.summary.unplayed['GPSample']}"
    assert not any("GPSample" in line for line in lines[1:])
    assert ", 1 environment, " in lines[1]
    pages = leaderboards.Results(tmp_path).page()
    text = html.unescape(re.sub("<[^>]+>", " ", Path(pages).read_text(encoding="utf-8")))
    assert text.count("GPSample") == 1
    assert f"Nobody could play GPSample: {found.summary.unplayed['GPSample']}." in text
    assert re.search(r"Environments\s+1\s", text)
    assert not list(Path(pages).parent.rglob("env-gpsample*"))


@pytest.mark.parametrize("case", ["one played", "one crashed", "not tried by all", "all there is"])
def test_what_somebody_could_play_or_failed_to_is_counted(tmp_path: Path, case: str) -> None:
    first, *others = labels()
    failed: dict[str, Failure] = dict.fromkeys(others, NEEDS)
    if case == "one crashed":
        failed[first] = CRASH
    found = site(tmp_path, failed)
    if case == "not tried by all":
        store = folder(tmp_path / "part", [PLAYED], AGENTS)
        folder(tmp_path / "part", [OTHER], AGENTS[1:], failures={(OTHER.label, label): NEEDS for label in others})
        found = Site(summarise(store))
    if case == "all there is":
        failures = {(OTHER.label, label): NEEDS for label in labels()}
        found = Site(summarise(folder(tmp_path / "all", [OTHER], AGENTS, failures=failures)))
    assert OTHER.label in found.summary.tasks
    assert found.summary.unplayed == {}


@pytest.mark.parametrize(
    ("failed", "repetitions", "why"),
    [
        (dict.fromkeys(labels(), CRASH), 6, "no run is done, ValueError: no"),
        ({}, 3, "too few repetitions, 3 where places begin at 6"),
        ({}, 6, ""),
    ],
)
def test_cards_say_the_true_reason(tmp_path: Path, failed: dict[str, Failure], repetitions: int, why: str) -> None:
    card = _cards(site(tmp_path, failed, repetitions=repetitions))[OTHER.label]
    assert card["unranked"] == why
    assert bool(card["leading"]) == (not why)


def test_cards_of_repetitions_that_no_two_have_in_common(tmp_path: Path) -> None:
    store = folder(tmp_path, [PLAYED], AGENTS)
    for number, agent in enumerate(AGENTS):
        store.write(record(OTHER, agent, number, 60))
    card = _cards(Site(summarise(store)))[OTHER.label]
    assert card["unranked"] == "no two agents have finished the same repetitions"


def test_row_t_of_a_trace_has_the_width_of_choice_t_plus_1() -> None:
    widths: list[float] = []

    class Spy(GPUCB):
        def select(self, n, pending):  # type: ignore[no-untyped-def]
            actions = super().select(n, pending)
            widths.append(self.current_width)
            return actions

    trace = leaderboards.run(("GPBandit/GPSample-v0", {"n_arms": 50}), Spy(), horizon=6).trace
    assert trace["width"].tolist()[:-1] == widths[1:]
    assert len(set(widths)) == 6
