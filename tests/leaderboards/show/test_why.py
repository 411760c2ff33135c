"""What agents did is planted into the runs of a made-up board: each deed is said, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from leaderboards.play.record import InstanceData, RunRecord
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.publish.make import write_board
from leaderboards.score.statistics import mean_interval
from leaderboards.score.summary import summarise
from leaderboards.show.why import deed, sentence, straight_from
from leaderboards.store.provenance import Source
from leaderboards.store.store import Store

A, T, N = 60, 200, 8
TRUE, WRONG, LATE = "told true", "lengthscale told x 3", "delay 5"
FACTOR = 3.0
TRAPPED = {1: 33, 4: 50, 6: 90}
"""By repetition, the first evaluation from which on the planted agent stays on one bad arm."""


def gaps(repetition: int) -> np.ndarray:
    """Regret of each arm of an instance; arm 0 is the best."""
    x = np.random.default_rng([7, repetition]).random(A)
    return np.concatenate([[0.0], 0.2 + x[1:]])


@dataclass(frozen=True)
class Plan:
    """How an agent plays: its arms in a repetition, and the length of its batches."""

    arms: Callable[[int, np.random.Generator], np.ndarray]
    batch: int = 1


def draws(_repetition: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform draws."""
    return rng.integers(0, A, T)


def learns(_repetition: int, rng: np.random.Generator) -> np.ndarray:
    """The best arm ever more often, and now and then another to the end."""
    free = rng.random(T) < 3 / np.sqrt(np.arange(1, T + 1))
    return np.where(free, rng.integers(0, A, T), 0)


def explores(_repetition: int, rng: np.random.Generator) -> np.ndarray:
    """All arms in turn."""
    return np.concatenate([rng.permutation(A) for _ in range(T // A + 1)])[:T]


def is_trapped(repetition: int, rng: np.random.Generator) -> np.ndarray:
    """In some repetitions a bad arm to the end; in the others it learns."""
    arms = learns(repetition, rng)
    if repetition in TRAPPED:
        arms[TRAPPED[repetition] - 1 :] = bad(repetition)
        arms[TRAPPED[repetition] - 2] = 0
    return arms


def bad(repetition: int) -> int:
    return int(np.argsort(gaps(repetition))[A // 2])


def settles(_repetition: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform draws, and from evaluation 41 on the best arm."""
    return np.where(np.arange(T) < 40, rng.integers(1, A, T), 0)


PLANS = {
    "Uniform": Plan(draws),
    "learner": Plan(learns),
    "in batches": Plan(learns, batch=10),
    "explorer": Plan(explores),
    "trapped": Plan(is_trapped),
    "settled": Plan(settles),
}
IDS = {"Uniform": "Uniform", "in batches": "GP-BUCB", "explorer": "IRGP-UCB"}


def trace(label: str, repetition: int) -> pd.DataFrame:
    plan, rng = PLANS[label], np.random.default_rng([repetition, *map(ord, label)])
    arms, t = plan.arms(repetition, rng), np.arange(1, T + 1)
    regret = gaps(repetition)[arms]
    return pd.DataFrame(
        {
            "t": t,
            "action": arms,
            "reward": -regret,
            "mean": -regret,
            "regret": regret,
            "batch": 1 + (t - 1) // plan.batch,
            "policy_seconds": np.full(T, 1e-3),
            "inference_regret": np.minimum.accumulate(regret),
            "cost": np.ones(T),
        }
    )


def planted_suite() -> Suite:
    env = {"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": A}}
    wrong = {**env["kwargs"], "misspecification": {"lengthscale": FACTOR}}  # type: ignore[dict-item]
    suite = parse_suite(
        {
            "name": "planted",
            "horizon": T,
            "repetitions": N,
            "environments": [
                {**env, "label": TRUE},
                {**env, "kwargs": wrong, "label": WRONG},
                {**env, "label": LATE, "feedback": "delay:5"},
            ],
            "agents": [
                {
                    "id": IDS.get(label, "GP-UCB"),
                    "label": label,
                    "kwargs": {} if label in IDS else {"delta": 0.1 + i / 99},
                }
                for i, label in enumerate(PLANS)
            ],
        }
    )
    return suite.frozen()  # as that of a board


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Runs with their traces."""
    suite, store = planted_suite(), Store(tmp_path_factory.mktemp("planted"))
    store.write_suite(suite)
    for spec in suite.specs():
        frame = trace(spec.agent.label, spec.repetition)
        wrong = {"lengthscale": FACTOR} if spec.env.label == WRONG else {}
        facts = {"optimum": 0.0, "mean_gap": float(gaps(spec.repetition).mean())}
        data = InstanceData(knowledge="misspecified" if wrong else "oracle", misspecification=wrong)
        store.write(RunRecord(spec, "done", frame, facts=facts, data=data))
    return store


@pytest.fixture(scope="module")
def kept(folder: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same as a board keeps them: no traces, sixty evaluations, sixteen bits."""
    suite = planted_suite()
    source = Source(standing="submitted", by="nobody", version="0")
    sources = {entry.ref.key: source for entry in suite.agents}
    return write_board(suite, tmp_path_factory.mktemp("boards") / "planted", folder, sources=sources)


@pytest.fixture(params=["folder", "kept"])
def view(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


def deeds(view: Store) -> dict[tuple[str, str], str]:
    summary = summarise(view)
    return {pair: deed(summary, *pair) for pair in summary.scores}


def test_each_planted_deed_is_said_and_no_other(view: Store) -> None:
    said = deeds(view)
    for task in (TRUE, WRONG, LATE):
        for label in PLANS:
            text = said[task, label].lower()
            assert ("in batches of 10: 20 decisions in 200 evaluations" in text) == (
                label == "in batches" and task != LATE
            )
            assert ("one and the same regret" in text) == (label == "trapped")
            assert ("without regret" in text) == (label == "settled")
            assert ("its second half cost" in text) == (label not in ("trapped", "settled"))
            assert ("results came late (delay 5)" in text) == (task == LATE)  # of which the channel alone says so
            told = "told a lengthscale 3 times the true one" in text
            assert told == (task == WRONG and label != "Uniform"), "Uniform is told nothing"


def test_what_the_second_half_costs_is_that_of_the_traces(view: Store) -> None:
    scores = summarise(view).scores[TRUE, "explorer"]
    middle = int(scores.t[scores.t >= T / 2][0])
    costs = [float(trace("explorer", r).regret[middle:].mean() / gaps(r).mean()) for r in range(N)]
    found = mean_interval(np.array(costs))
    ends = f"{found.low:.2f} \N{EN DASH} {found.high:.2f}"
    assert deeds(view)[TRUE, "explorer"] == f"Its second half cost {np.mean(costs):.2f} ({ends}) of uniform draws."


def test_one_regret_to_the_end_is_measured(view: Store) -> None:
    t = summarise(view).scores[TRUE, "trapped"].t
    # The first evaluation that is kept from there on is where it is seen.
    seen = [int(t[np.searchsorted(t, start - 1)]) + 1 for start in TRAPPED.values()]
    loss = np.mean([gaps(r)[bad(r)] / gaps(r).mean() for r in TRAPPED])
    lost = sum((T - begin + 1) * gaps(r)[bad(r)] for r, begin in zip(TRAPPED, seen))
    share = lost / sum(trace("trapped", r).regret.sum() for r in range(N))
    assert deeds(view)[TRUE, "trapped"] == (
        f"One and the same regret in {len(TRAPPED)} of {N} repetitions in every evaluation from "
        f"{int(np.median(seen))} on, {loss:.2g} of what a uniform draw costs: {share:.0%} of all its regret."
    )
    settled = int(t[t >= 40][0]) + 1
    assert deeds(view)[TRUE, "settled"] == f"From evaluation {settled} on without regret."


def test_what_was_told_wrong_is_that_which_the_agent_reads(folder: Store) -> None:
    summary = summarise(folder)
    scores, task = summary.scores[WRONG, "learner"], summary.tasks[WRONG]
    wrong = replace(task, misspecification={"lengthscale": 0.5, "noise": 3.0, "norm": 2.0, "sup": 0.1})
    for needs, expected in (
        (("kernel",), "told a lengthscale 0.5 times the true one and a kernel that the function is off by up to 0.1."),
        (("noise", "norm"), "told a noise 3 times the true one and a bound on the norm 2 times the true one."),
    ):
        assert sentence(scores, wrong, needs).endswith(expected)
    assert "told" not in sentence(scores, wrong)


def test_rounding_neither_hides_nor_makes_a_trap() -> None:
    """Regret to sixteen bits at sixty evaluations: 300 agents that stay, and 300 that never take an arm twice."""

    from leaderboards.store.kept import _rounded, kept_times

    rng = np.random.default_rng(1)
    for _ in range(300):
        horizon = int(rng.integers(30, 1_000))
        t, regret = kept_times(horizon), rng.random(horizon)
        start = int(rng.integers(1, horizon // 2))
        staying = np.where(np.arange(horizon) < start, regret, 10.0 ** rng.uniform(-3, 1))
        for values, stays in ((staying, True), (regret, False)):
            total = np.cumsum(values)
            kept = _rounded("cumulative_regret", total[t - 1])
            found = t[straight_from(t, kept[None])[0]]
            assert (found <= t[t >= start][0]) if stays else (found > horizon / 2)
