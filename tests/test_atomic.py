""""""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.atomic import TEMPORARY, locked, written_whole
from gpbandit_envs.problem import Approximation, Problem


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.txt"
    with written_whole(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert temporary.name.endswith(TEMPORARY)
        assert not path.exists()
    assert path.read_text() == "new"
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("half")

    with pytest.raises(RuntimeError, match="half"):
        fail()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_two_writers_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with written_whole(path) as one, written_whole(path) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"


@pytest.mark.parametrize("lasting", [True, False])
def test_content_is_on_the_disk_before_the_name(tmp_path: Path, lasting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(number: int) -> None:
        done.append(f"{os.fstat(number).st_size} bytes")
        fsync(number)

    def replaced(*names: Path) -> None:
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with written_whole(tmp_path / "file.txt", lasting) as temporary:
        temporary.write_text("new")
    assert done == (["3 bytes", "name"] if lasting else ["name"])


def test_one_at_a_time_is_in_a_locked_folder(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0")

    def count(_: int) -> None:
        with locked(tmp_path):
            n = int((tmp_path / "n").read_text())
            with written_whole(tmp_path / "n", lasting=False) as temporary:
                temporary.write_text(str(n + 1))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(80)))
    assert (tmp_path / "n").read_text() == "80"
    assert [path.name for path in tmp_path.iterdir()] == ["n"], "nothing is left behind"


# ---- `Problem.approximations`: its order, and what it says beside the norm bound ----


A = Approximation
STATED: dict[str, Any] = {"name": "test", "dim": 1, "arms": np.zeros((2, 1)), "noise_std": 0.1}


def test_pairs_are_those_given_or_that_of_the_norm_bound() -> None:
    given = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.1)))
    assert given.pairs == given.approximations == (A(1.0, 0.3), A(2.0, 0.1))
    assert given.norm_bound is None
    assert Problem(**STATED, norm_bound=2.0).pairs == ((2.0, 0.0),)
    assert Problem(**STATED, norm_bound=2.0, misspecification={"sup": 0.1}).pairs == ((2.0, 0.1),)
    assert Problem(**STATED).pairs == ()


def test_a_pair_without_distance_is_a_norm_bound() -> None:
    problem = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.0)))
    assert problem.norm_bound == 2.0
    assert "sup" not in problem.misspecification


def test_it_is_shown_and_pickled() -> None:
    problem = Problem(**STATED, approximations=(A(1.0, 0.3),))
    assert pickle.loads(pickle.dumps(problem)).pairs == problem.pairs
    assert "approximations=[(1.0, 0.3)]" in repr(problem)
    assert "prior_mean" not in repr(problem)
    assert "prior_mean=0.5" in repr(replace(problem, prior_mean=0.5))
    exact = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.0)))
    assert replace(exact, horizon=9).norm_bound == 2.0


def test_one_pair_implies_what_is_weaker() -> None:
    assert Approximation(1.0, 0.2).implies(Approximation(2.0, 0.2))
    assert not Approximation(1.0, 0.2).implies(Approximation(2.0, 0.1))
    assert not Approximation(2.0, 0.2).implies(Approximation(1.0, 0.2))


def test_an_rkhs_problem_off_by_a_distance_carries_it() -> None:
    env = gym.make("GPBandit/RKHS-v0", misspecification={"sup": 0.05}, norm=2.0)
    problem = env.unwrapped.problem  # type: ignore[attr-defined]
    assert problem.pairs == ((2.0, 0.05),)
    assert problem.approximations == ()
    assert dict(problem.misspecification) == {"sup": 0.05}
    assert gym.make("GPBandit/RKHS-v0", norm=2.0).unwrapped.problem.approximations == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"approximations": ((1.0, 0.1), (2.0, 0.1))}, ValueError, r"distances that decrease, got \(1.0, 0.1\) before"),
        ({"approximations": ((2.0, 0.2), (1.0, 0.1))}, ValueError, "expected norms that increase"),
        ({"approximations": ((0.0, 0.2),)}, ValueError, "approximations: expected"),
        ({"approximations": ((1.0, -0.2),)}, ValueError, "approximations: expected pairs of a norm > 0"),
        ({"approximations": ((1.0, float("nan")),)}, ValueError, "approximations: expected pairs"),
        ({"approximations": (1.0,)}, TypeError, "approximations: expected pairs of a norm"),
        ({"approximations": "1, 2"}, TypeError, "approximations: expected pairs"),
        ({"approximations": ((1.0, 0.1),), "norm_bound": 2.0}, ValueError, "norm_bound: expected None beside .* 2.0"),
        ({"approximations": ((1.0, 0.1),), "norm_bound": 1.0}, ValueError, "norm_bound: expected None beside .* 1.0"),
        ({"approximations": ((1.0, 0.0),), "norm_bound": 2.0}, ValueError, "norm_bound: expected None beside .* 2.0"),
        ({"prior_mean": float("inf")}, ValueError, "prior_mean: expected a finite number"),
    ],
)
@pytest.mark.wrong_arguments
def test_what_is_refused(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Problem(**STATED, **changes)
