"""The picture of a mean function with an agent's pulls, and the curves of single repetitions: their numbers."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leaderboards
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.environment import REPEATED, environment_page, repetition_data
from leaderboards.show.shared import Site
from leaderboards.show.where_agents_pull import pull_data, three_digits
from leaderboards.store.store import Store
from tests.leaderboards.folders import AGENTS, folder

ENVS: dict[str, tuple[str, dict[str, object]]] = {
    "line": ("GPBandit/GPSample-v0", {"n_arms": 50, "dim": 1}),
    "arms": ("GPBandit/GPSample-v0", {"n_arms": 1500, "dim": 2}),
    "rank": ("GPBandit/GPSample-v0", {"n_arms": 60, "dim": 3}),
    "grid": ("GPBandit/Branin-v0", {}),
    "high": ("GPBandit/Hartmann3-v0", {}),
}


def labelled(record: RunRecord, label: str) -> RunRecord:
    return replace(record, spec=replace(record.spec, env=replace(record.spec.env, label=label)))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Site]:
    store = Store(tmp_path_factory.mktemp("pulls"))
    for label, env in ENVS.items():
        for agent in ("Random", "EpsGreedy") if label not in ("grid", "high") else ("Random",):
            for repetition in range(2):
                store.write(labelled(leaderboards.run(env, agent, repetition, 200), label))
    return store, Site(summarise(store), theory=True)


def data(played: tuple[Store, Site], task: str) -> dict[str, Any]:
    store, site = played
    found = pull_data(site, store, task)
    assert found is not None
    json.dumps(found, allow_nan=False)
    return found


def trace_of(played: tuple[Store, Site], task: str, agent: str) -> Any:
    store, site = played
    runs = site.summary.runs
    mine = runs[(runs["task"] == task) & (runs["agent"] == agent) & (runs["repetition"] == 0)]
    return store.trace(str(mine.index[0]))


def test_pulls_are_counted_where_they_were_in_one_dimension(played: tuple[Store, Site]) -> None:
    found = data(played, "line")
    assert found["kind"] == "line"
    assert (np.diff(found["x"]) > 0).all(), "a curve from left to right"
    trace = trace_of(played, "line", "EpsGreedy")
    mine = found["agents"]["EpsGreedy"]
    counts = trace["action"].value_counts()
    assert (mine["total"], mine["distinct"]) == (200, len(counts))
    assert sum(mine["n"]) == 200
    most = int(np.argmax(mine["n"]))
    assert mine["n"][most] == counts.max()
    assert mine["y"][most] == pytest.approx(trace["mean"][trace["action"] == counts.idxmax()].iloc[0], rel=6e-3)
    assert mine["t"][most] == 1 + int(np.flatnonzero(trace["action"] == counts.idxmax())[0])
    assert found["best"][1] == pytest.approx(found["top"])
    assert found["top"] >= max(found["y"]) - 0.01


def test_a_plane_of_arms_is_thinned_and_a_box_is_a_grid(played: tuple[Store, Site]) -> None:
    arms, grid = data(played, "arms"), data(played, "grid")
    assert (arms["kind"], grid["kind"]) == ("arms", "grid")
    assert len(arms["x"]) == len(arms["y"]) == len(arms["z"]) == 1200
    assert np.shape(grid["z"]) == (60, 60)
    best = np.unravel_index(np.argmax(grid["z"]), (60, 60))
    assert grid["best"] == pytest.approx([grid["x"][best[1]], grid["y"][best[0]]], abs=6e-3)
    mine = grid["agents"]["Random"]
    assert (mine["total"], mine["distinct"], len(mine["x"])) == (200, 200, 120), "what is pulled once is thinned"


def test_a_box_is_drawn_in_its_own_units_and_says_where_it_comes_from(played: tuple[Store, Site]) -> None:
    """Branin's, on [-5, 10] x [0, 15], with maxima at (-pi, 12.275), (pi, 2.275) and (3 pi, 2.475)."""
    grid, trace = data(played, "grid"), trace_of(played, "grid", "Random")
    for ends, values in (((-5, 10), grid["x"]), ((0, 15), grid["y"])):
        assert ends[0] <= min(values) < ends[0] + 0.3
        assert ends[1] - 0.3 < max(values) <= ends[1]
    maxima = np.array([[-np.pi, 12.275], [np.pi, 2.275], [3 * np.pi, 2.475]])
    assert np.abs(maxima - grid["best"]).max(axis=1).min() < 0.3
    mine = grid["agents"]["Random"]
    pulled = trace[["action_0", "action_1"]].to_numpy()[np.array(mine["t"]) - 1]
    np.testing.assert_allclose(mine["x"], -5 + 15 * pulled[:, 0], rtol=6e-3)  # three digits
    np.testing.assert_allclose(mine["y"], 15 * pulled[:, 1], rtol=6e-3)
    assert any("Branin (1972)" in text for text in environment_page(played[1], "grid")["references"])


@pytest.mark.parametrize("task", ["rank", "high"])
def test_in_more_dimensions_actions_stand_in_the_order_of_their_means(played: tuple[Store, Site], task: str) -> None:
    found = data(played, task)
    assert found["kind"] == "rank"
    assert found["x"][0] == 1
    assert found["best"][0] == 1
    assert (np.diff(found["y"]) <= 0).all()
    mine = found["agents"]["Random"]
    order = np.argsort(mine["x"], kind="stable")
    assert (np.diff(np.array(mine["y"])[order]) <= 0.01).all(), "a worse rank has no better mean"


def test_a_run_on_another_instance_is_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    env = ("GPBandit/GPSample-v0", {"n_arms": 50, "dim": 1})
    store.write(leaderboards.run(env, "Random", 0, 20))
    beyond, other = leaderboards.run(env, "Uniform", 0, 20), leaderboards.run(env, "EpsGreedy", 0, 20)
    beyond.trace["action"] += 40
    other.trace["mean"] += 1.0
    store.write(beyond, other)
    found = data((store, Site(summarise(store), theory=True)), "GPSample")
    assert set(found["agents"]) == {"Random"}


def test_single_repetitions_are_the_curves_of_the_runs(tmp_path: Path) -> None:
    site = Site(summarise(folder(tmp_path, repetitions=3)))
    found = repetition_data(site, "RKHS")["metrics"]
    assert tuple(found) == REPEATED
    scores = site.summary.scores["RKHS", "GP-UCB"]
    for name in REPEATED:
        x, runs = found[name]["x"], found[name]["runs"]["GP-UCB"]
        at = np.searchsorted(scores.t, x)
        curves = np.frombuffer(base64.b64decode(runs), "<f4").reshape(3, len(x))
        np.testing.assert_allclose(curves, scores.curves[name][:, at], rtol=1e-7)


def test_one_repetition_has_no_others_beside_it(tmp_path: Path) -> None:
    folder(tmp_path, [Ref("GPBandit/RKHS-v0")], AGENTS[:2], repetitions=1)
    build_page(tmp_path, theory=False)
    assert not list((tmp_path / "site" / "repetitions").iterdir())
    assert '"repeated":[]' in (tmp_path / "site" / "env-rkhs.html").read_text()


def test_three_digits_are_exact_at_every_size() -> None:
    x = np.array([0.0, 1.2345, -0.00098765, 123456.0, 9.999, np.nan, np.inf, 1e-300])
    expected = [0.0, 1.23, -0.000988, 123000.0, 10.0]
    assert three_digits(x)[:5].tolist() == expected
    assert np.isnan(three_digits(x)[5:7]).all()
    assert three_digits(x)[7] == pytest.approx(1e-300)
