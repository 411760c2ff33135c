"""The screen flags agents that know the best arm before any feedback, and none that does not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from leaderboards.cli.results import say_screen
from leaderboards.play.run import instance_env, run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.publish.boards import board
from leaderboards.store.store import Store
from leaderboards.verify.screen import LEVEL, chance, first_choices, screen, screened, tail
from tests.leaderboards.verify import cheats

ARMS = Ref("GPBandit/RKHS-v0", {"n_arms": 20})


def spec_of(agent: str, env: Ref = ARMS, repetition: int = 0, feedback: str = "on_request") -> RunSpec:
    return RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=12, feedback=feedback)


def played(directory: Path, *agents: str, env: Ref = ARMS, n: int = 6) -> Store:
    store = Store(directory)
    store.write(*(run_spec(spec_of(agent, env, r)) for agent in agents for r in range(n)))
    return store


def path(cheat: type) -> str:
    return f"{cheat.__module__}:{cheat.__qualname__}"


@pytest.mark.parametrize("name", ["core-v2", "boxes-v2", "feedback-v1"])
@pytest.mark.slow
def test_no_row_of_a_board_is_flagged(name: str) -> None:
    found = screen(board(name))
    assert len(found) == len({run.spec.agent.key for run in board(name).entries().values()})
    assert [str(one) for one in found if one.flagged] == []
    assert any(one.runs for one in found) == (name != "boxes-v2")


@pytest.mark.slow
def test_cheats_are_flagged_and_others_are_not(tmp_path: Path) -> None:
    store = played(tmp_path, path(cheats.Frames), path(cheats.Objects), "GP-UCB", "Uniform", "EpsGreedy")
    found = {one.agent: one for one in screen(store)}
    assert {agent for agent, one in found.items() if one.flagged} == {"Frames", "Objects"}
    assert (found["Frames"].hits, found["Frames"].runs) == (6, 6)
    assert "6 of 6 runs" in str(found["Frames"])
    assert str(found["Frames"]).endswith("read its code, and play it on hold-out seeds")


def test_commands_say_of_a_board_what_can_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaderboards.verify.screen._INSTANCES", 2)
    assert not say_screen(played(tmp_path / "arms", "Uniform", n=2), every=False)
    assert capsys.readouterr().out.startswith("screen: none of 1 agents pulls the best arm first")
    assert not say_screen(board("boxes-v2-lite"), every=False)
    assert capsys.readouterr().out.startswith("screen: no run is on drawn functions of finite arms")


def test_what_everybody_may_know_tells_nothing(tmp_path: Path) -> None:
    """A function that is the same in all repetitions: whoever has read its paper pulls the best arm."""
    (found,) = screen(played(tmp_path, path(cheats.Frames), env=Ref("GPBandit/BPEF1-v0")))
    assert (found.runs, found.p, found.flagged) == (0, 1.0, False)
    assert "no run on drawn functions" in str(found)


def test_the_end_of_the_line_is_best_more_often_than_one_in_all(tmp_path: Path) -> None:
    """An honest agent may know that: it stays below the chance that the screen grants."""
    line = Ref(
        "GPBandit/RKHS-v0", {"n_arms": 500, "dim": 1, "kernel": {"name": "matern", "nu": 2.5, "lengthscale": 0.2}}
    )
    c = chance({r: spec_of("Uniform", line, r) for r in range(40)})
    assert c is not None
    assert c >= 1 / 20
    best = []
    for r in range(40):
        with instance_env(spec_of("Uniform", line, r)) as (env, problem):
            best.append(int(np.argmax(env.mean(np.arange(problem.n_arms)))))
    ends = max(best.count(0), best.count(499)) / 40
    assert c >= ends > 2 / 500
    assert tail(np.full(40, c), round(ends * 40)) > LEVEL


@pytest.mark.parametrize(("n", "c", "hits"), [(20, 0.1, 5), (1, 0.3, 1), (300, 0.05, 40), (4, 0.2, 0)])
def test_the_tail_is_exact(n: int, c: float, hits: int) -> None:
    assert tail(np.full(n, c), hits) == pytest.approx(scipy.stats.binom.sf(hits - 1, n, c), rel=1e-9)


def test_the_tail_of_unequal_chances_is_that_of_all_cases() -> None:
    c = np.array([0.1, 0.5, 0.9])
    three = float(np.prod(c))
    none = float(np.prod(1 - c))
    assert tail(c, 3) == pytest.approx(three)
    assert tail(c, 1) == pytest.approx(1 - none)
    assert tail(np.zeros(0), 0) == 1.0


def test_honest_agents_are_flagged_as_seldom_as_promised() -> None:
    """5,000 boards of 20 agents that hit with the very chance: no more than `LEVEL` of them, up to simulation."""
    rng = np.random.default_rng(1)
    c, runs, agents, boards = 0.1, 60, 20, 5000
    least = next(hits for hits in range(runs + 1) if tail(np.full(runs, c), hits) * agents < LEVEL)
    hits = rng.binomial(runs, c, size=(boards, agents))
    flagged = int((hits >= least).any(axis=1).sum())
    assert flagged <= scipy.stats.binom.isf(1e-6, boards, LEVEL)
    one = screened({str(i): [("e", j < least) for j in range(runs)] for i in range(agents)}, {"e": c})
    assert all(found.flagged for found in one)
    fewer = screened({str(i): [("e", j < least - 1) for j in range(runs)] for i in range(agents)}, {"e": c})
    assert not any(found.flagged for found in fewer)


def test_one_instance_is_one_chance(tmp_path: Path) -> None:
    """Three feedback models on the same function are no three chances; boxes are none at all."""
    store = Store(tmp_path)
    for feedback in ("on_request", "batch:2", "batch:3"):
        store.write(*(run_spec(spec_of(path(cheats.Frames), repetition=r, feedback=feedback)) for r in range(2)))
    store.write(run_spec(spec_of("Random", Ref("GPBandit/Branin-v0"))))
    assert len([run for run, _ in first_choices(store) if run.spec.env.key == ARMS.key]) == 2
    assert chance({0: spec_of("Random", Ref("GPBandit/Branin-v0"))}) is None
    assert chance({0: spec_of("GP-UCB", Ref("GPBandit/RKHSContext-v0"))}) is None
    found = {one.agent: one for one in screen(store)}
    assert (found["Frames"].hits, found["Frames"].runs) == (2, 2)
    assert found["Random"].runs == 0
    assert not math.isnan(found["Random"].p)
