"""Instances that nobody could know tell an agent that knows the public ones from one that learns."""

from __future__ import annotations

import random
import re
import secrets
import tempfile
from pathlib import Path

import numpy as np
import pytest

from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.isolated import not_isolated
from leaderboards.publish.boards import Board
from leaderboards.publish.holdout import LEVEL, worse
from leaderboards.store.store import Store
from tests.leaderboards.publish.boards import REPETITIONS, SMALL

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


SPY = """
import os
import sys
from pathlib import Path

found = []
for folder in (Path("/tmp"), Path.home(), {folder!r} and Path({folder!r})):
    found += [path for path in folder.rglob("*") if path.suffix in (".parquet", ".zip") or path.name == "suite.json"]
found = [path for path in found if not path.is_relative_to(sys.prefix)]  # libraries bring files of their own
for name in ("mem", "environ", "maps"):
    try:
        with open(f"/proc/{{os.getppid()}}/{{name}}", "rb") as file:
            found += [name] if b"gpbandit" in file.read(1 << 16) else []
    except OSError:
        pass
print(f"found {{len(found)}}", *found[:3], file=sys.stderr)
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
@pytest.mark.skipif(not_isolated() is not None, reason=str(not_isolated()))
def test_a_spy_among_the_files_finds_no_hold_out(
    own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Under the name of a third-party module it is refused, and by a name of its own it finds nothing.

    Both would have run before anything confined them: nine of ten instances were known then, and p was .22.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))  # where the hold-out is, while it is played
    (tmp_path / "temporary").mkdir()
    (tmp_path / "spy_of_holdouts.py").write_text(SPY.format(folder=str(tmp_path)))
    monkeypatch.setattr(f"{__name__}.AGENTS", f"import spy_of_holdouts\n{AGENTS}")
    submitted(tmp_path, monkeypatch, "Redraws")
    beside = capfd.readouterr().err
    assert "found 0" not in beside, "where nothing confines it, it finds the results"
    seeds(monkeypatch)
    assert execute(["board", "holdout", "sub", "--yes", "--workers", "2", "--repetitions", "4"]) == 1
    said = capfd.readouterr()
    found = [line for line in said.err.splitlines() if "Redraws prints: found" in line]
    assert len(found) == 8, "one of each run"
    assert {line.partition("prints: ")[2] for line in found} == {"found 0"}
    row = said.out.splitlines()[0]
    assert row.startswith("NOT Redraws: ")
    assert float(row.partition("p = ")[2].partition(":")[0]) < LEVEL
    listed = tmp_path / "sub" / "submission.json"
    (tmp_path / "sub" / "code" / "spy_of_holdouts.py").rename(tmp_path / "sub" / "code" / "threadpoolctl.py")
    listed.write_text(listed.read_text().replace("spy_of_holdouts.py", "threadpoolctl.py"))
    with pytest.raises(UserError, match=r"code/threadpoolctl\.py: expected a module of a name of its own, got 'thread"):
        execute(["board", "holdout", "sub", "--yes"])


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
    *rows, on_record, anew, last = capsys.readouterr().out.splitlines()
    agents = {"GP-UCB, width 2", "EpsGreedy", "Uniform"}
    assert {line.split(": ")[0].removeprefix("ok  ").removeprefix("NOT ") for line in rows} == agents
    assert all("over 2 environments" in line and line.endswith("(row of the board)") for line in rows)
    shares = [[float(found) for found in re.findall(r"\d\.\d{3}", line)[:2]] for line in rows]
    # The rows' mean is 1 by definition, anew and on record.
    np.testing.assert_allclose(np.mean(shares, axis=0), 1.0, atol=2e-3)
    ordered = [", ".join(row.split(": ")[0][4:] for _, row in sorted(zip(side, rows))) for side in zip(*shares)]
    assert (anew, on_record) == (
        f"from the least regret on hold-out: {ordered[0]}",
        f"from the least regret on record: {ordered[1]}",
    )
    assert last.startswith("the root seed was 987654321;")
