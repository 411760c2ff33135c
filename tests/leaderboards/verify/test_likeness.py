"""Copies that go their own way are named by their choices; other rules, and other settings, are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents import Actions, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from agents.exact.gp_ucb import GPUCB
from agents.exact.thompson import GPTS
from gpbandit_envs.problem import Problem
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.verify.likeness import likened
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing

ENV = Ref("GPBandit/RKHS-v0", {"n_arms": 60, "dim": 2})
WIDTH_2 = Ref("GP-UCB", {"width": 2.0}, "GP-UCB, width 2")
BOARD = (WIDTH_2, Ref("GP-EI"), Ref("GP-TS"), Ref("EpsGreedy"), Ref("BPE"))


class Shuffled(GPUCB):
    """GP-UCB that begins with five arms that it draws, and draws another arm now and then."""

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.rng, self.chosen = rng, 0

    def observe(self, feedback: Feedback) -> None:
        super().observe(feedback)
        self.chosen += len(feedback)

    def select(self, n: int, pending: Pending) -> Actions:
        if self.chosen < 5 or self.rng.random() < 0.05:
            return self.rng.integers(self.problem.n_arms, size=1)
        return super().select(n, pending)


class Draws(GPTS):
    """A copy of a rule that draws, which nobody can tell from another one by its choices."""


class Own(FiniteArmAgent):
    """An honest rule that no board has: it explores at fixed times."""

    capabilities = Capabilities(frozenset({"finite"}))

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros(0, np.int64)
        return self.uniform(1) if self.n_pulls % 4 == 0 else np.array([self.recommend()])


def played(folder: Path, *agents: Ref) -> Store:
    store = Store(folder)
    specs = [RunSpec(env=ENV, agent=agent, repetition=r, horizon=60) for agent in agents for r in range(2)]
    run_missing(specs, store, SerialExecutor())
    return store


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return played(tmp_path_factory.mktemp("board"), *BOARD)


def test_a_copy_that_starts_elsewhere_is_named(board: Store, tmp_path: Path) -> None:
    copy = Ref(f"{__name__}:Shuffled", {"width": 2.0}, "Mine")
    mine = played(tmp_path, copy)
    firsts = [
        [store.trace(key)["action"][0] for key in sorted(store.done_keys()) if store.spec(key).agent.key == ref.key]
        for store, ref in ((mine, copy), (board, WIDTH_2))
    ]
    assert set(firsts[0]) != set(firsts[1]), "else its first choices would name it"
    (text,) = likened(mine, board)
    assert text.startswith("Mine chooses as GP-UCB, width 2 of the board does: given its history, ")


@pytest.mark.parametrize(
    "honest",
    [
        Ref(f"{__name__}:Own"),
        Ref("Uniform"),
        Ref("GP-UCB", {"width": 1.0}, "GP-UCB, width 1"),
        Ref("IRGP-UCB"),
        Ref(f"{__name__}:Draws"),
    ],
    ids=lambda ref: ref.label,
)
def test_other_rules_are_not_named(honest: Ref, board: Store, tmp_path: Path) -> None:
    assert likened(played(tmp_path, honest), board) == []
