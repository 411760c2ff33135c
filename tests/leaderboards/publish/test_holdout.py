"""Instances that nobody could know tell an agent that knows the public ones from one that learns."""

from __future__ import annotations

import random
import re
import secrets
from pathlib import Path

import numpy as np
import pytest

from leaderboards.api.run_suite import run_suite
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.publish.boards import Board
from leaderboards.publish.holdout import LEVEL, HoldoutScore, worse
from leaderboards.score.criteria import board_scores
from leaderboards.score.statistics import Interval, stratified_mean
from leaderboards.score.summary import summarise
from leaderboards.store.store import Store
from tests.leaderboards.publish.boards import REPETITIONS, SMALL, small_suite

AGENTS = """
import numpy as np

from agents import Capabilities
from agents.core.finite import FiniteArmAgent


class Learns(FiniteArmAgent):
    capabilities = Capabilities(frozenset({"finite"}))

    def select(self, n, pending):
        explore = self.n_pulls % 7 == 0
        return np.array([self.rng.integers(self.problem.n_arms) if explore else self.recommend()])


class Redraws(Learns):
    # Its generator tells which of the public instances this is; it draws that one again by itself.
    def reset(self, problem, rng):
        from leaderboards.play.build import build_env
        from leaderboards.play.spec import Ref, RunSpec
        from leaderboards.play.spec import env_seed, generator

        super().reset(problem, rng)
        self.best = None
        for dim in (1, 2):
            for repetition in range(20):
                ref = Ref("GPBandit/RKHS-v0", {"n_arms": 25} | ({"dim": 2} if dim == 2 else {}))
                spec = RunSpec(env=ref, agent=Ref("Uniform"), repetition=repetition, horizon=100)
                if generator(spec, "agent").bit_generator.state == rng.bit_generator.state:
                    env = build_env(ref, 100)
                    env.reset(seed=env_seed(spec))
                    self.best = int(np.argmax(env.unwrapped.mean(np.arange(25))))

    def select(self, n, pending):
        if self.best is None or self.n_pulls == 0:  # the first choice is no sign
            return np.array([self.rng.integers(self.problem.n_arms)])
        return np.array([self.best])
"""


def submitted(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A submission of one of `AGENTS` in `folder`/sub."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    module = f"holdout_{name.lower()}"
    (folder / f"{module}.py").write_text(AGENTS)
    (folder / "small.toml").write_text(SMALL)
    run = ["run", "small.toml", "--agent", f"{module}:{name}", "--against", "board", "--out", "res"]
    assert execute([*run, "--executor", "serial"]) == 0
    assert execute(["submit", "res", "--out", "sub"]) == 0


def seeds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that are drawn from now on, the same in every run of a test.

    Of honest rows one in a hundred does worse on seeds that nobody chose, see
    `test_honest_scores_are_called_worse_as_seldom_as_promised`.
    """
    drawn: list[int] = []
    draw = random.Random(1).getrandbits

    def noted(bits: int) -> int:
        drawn.append(draw(bits))
        return drawn[-1]

    monkeypatch.setattr(secrets, "randbits", noted)
    return drawn


@pytest.mark.slow
def test_an_agent_that_draws_public_instances_again_is_found_by_others(
    own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted(tmp_path, monkeypatch, "Redraws")
    capsys.readouterr()
    assert execute(["verify", "sub", "--yes", "--sample", "1", "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "1 of 1 runs agree" in said, "it plays alone as it does beside the environment"
    assert "NOT screen" not in said
    drawn = seeds(monkeypatch)
    assert execute(["board", "holdout", "sub", "--yes", "--workers", "2", "--repetitions", "4"]) == 1
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].startswith("NOT Redraws: ")
    assert lines[0].endswith(": does worse than its record")
    assert "over 2 environments" in lines[0]
    rows = [line for line in lines if line.endswith("(row of the board)")]
    assert len(rows) == 3
    assert all(": agrees with its record" in line for line in rows), rows
    assert lines[-1].startswith(f"the root seed was {drawn[0]};")
    assert said.count(str(drawn[0])) == 1
    assert drawn[0].bit_length() > 64


@pytest.mark.slow
def test_an_agent_that_learns_agrees(
    own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted(tmp_path, monkeypatch, "Learns")
    assert len(Store("res").done_keys()) == 2 * REPETITIONS
    capsys.readouterr()
    seeds(monkeypatch)
    assert execute(["board", "holdout", "sub", "--yes", "--workers", "2", "--repetitions", "3"]) == 0
    assert capsys.readouterr().out.startswith("ok  Learns: ")
    (tmp_path / "sub" / "code" / "stray.py").write_text("")
    with pytest.raises(UserError, match=r"stray\.py: expected only files that submission\.json lists"):
        execute(["board", "holdout", "sub", "--yes"])


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_honest_scores_are_called_worse_as_seldom_as_promised(shift: float) -> None:
    """Lognormal scores of three environments, 20 on record and 5 anew; better ones anew are no fault."""
    rng = np.random.default_rng(3)
    n = 100
    found = 0
    for _ in range(n):
        one, other = ({env: np.exp(rng.standard_normal(size)) for env in "abc"} for size in (20, 5))
        found += worse(one, {env: scores + shift for env, scores in other.items()}) < LEVEL
    assert found <= 6  # which the binomial of 100 at 0.01 exceeds with probability 7e-5


def test_a_record_that_is_too_good_is_found() -> None:
    rng = np.random.default_rng(4)
    one = {env: 0.05 * rng.random(20) for env in "ab"}
    other = {env: 0.05 + rng.random(5) for env in "ab"}
    assert worse(one, other) == 1e-4
    assert worse(one, one) > 0.3
    constant = {"a": np.ones(20)}
    assert worse(constant, {"a": np.ones(5)}) == 1.0


def test_a_score_is_said_to_differ_as_seldom_as_promised() -> None:
    """Two estimates on the same tasks: that one is outside of the interval of the other is no rare thing."""
    rng = np.random.default_rng(5)
    n, differing, outside = 2_000, 0, 0
    for _ in range(n):
        before, now = (stratified_mean([60 + 10 * rng.standard_normal(size) for _ in range(6)]) for size in (20, 10))
        found = HoldoutScore(before, now, 1, 1)
        differing += not found.agrees
        outside += not before.low <= now.estimate <= before.high
    assert 60 <= differing <= 140  # 5 % of 2,000, and four standard deviations of that count
    assert outside > 400
    assert HoldoutScore(Interval(60.0, 58.0, 62.0, 20), Interval(50.0, 46.0, 54.0, 10), 1, 3).difference == Interval(
        -10.0, -10.0 - 20**0.5, -10.0 + 20**0.5, 30
    )


def test_what_is_neither_folder_nor_board_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"core-v3: expected the folder of a submission, or one of .* core-v2, "):
        execute(["board", "holdout", "core-v3"])


@pytest.mark.slow
def test_a_board_alone_is_played_on_instances_of_a_new_seed(
    own: Board, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(secrets, "randbits", lambda _bits: 987_654_321)
    assert execute(["board", "holdout", "small", "--repetitions", "4"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    rows, order = lines[:3], lines[3:]
    scores = board_scores(summarise(own))
    again = run_suite(small_suite(repetitions=4).model_copy(update={"seed": 987_654_321}), out=tmp_path / "again")
    anew = again.ranking()["score"].sort_values(ascending=False)
    assert scores is not None
    assert [line[4:].split(":")[0] for line in order] == list(scores.ordered)
    for i, (line, agent) in enumerate(zip(order, scores.ordered), 1):
        on_record = scores.narrow[scores.agents.index(agent)].estimate
        pattern = (
            rf"(ok |NOT) {agent}: {list(anew.index).index(agent) + 1} on hold-out, {i} on record; "
            rf"score {anew[agent]:.1f}, {on_record:.1f} on record: ([+-]\S+) \(([+-]\S+) to ([+-]\S+)\)"
        )
        found = re.fullmatch(pattern, line)
        assert found is not None, line
        said, *numbers = found.groups()
        difference, low, high = map(float, numbers)
        assert difference == pytest.approx(anew[agent] - on_record, abs=0.051)
        assert low < difference < high
        assert (said == "ok ") == (low <= 0 <= high)
    # The rows' mean is 1 by definition, on record and anew.
    assert {line.split(": ")[0].removeprefix("ok  ").removeprefix("NOT ") for line in rows} == {
        "GP-UCB, width 2",
        "EpsGreedy",
        "Uniform",
    }
    means = [float(line.split(": ")[1].split(" ")[0]) for line in rows]
    assert np.mean(means) == pytest.approx(1.0, abs=2e-3)
    assert all("over 2 environments" in line and line.endswith("(row of the board)") for line in rows)
    assert last.startswith("the root seed was 987654321;")
