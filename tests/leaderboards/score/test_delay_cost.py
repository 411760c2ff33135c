"""Delay costs of folders in which they are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.delay_cost import DelayStudy, delay_studies
from leaderboards.score.statistics import paired_difference, ratio_interval
from leaderboards.score.summary import summarise
from leaderboards.store.store import Store
from tests.leaderboards.folders import trace

ENV = Ref("GPBandit/RKHS-v0")


def write(store: Store, agent: str, feedback: str, extra: float, repetitions: int = 4, env: Ref = ENV) -> np.ndarray:
    """Runs whose total regret is that of the repetition plus `extra` a piece; returns the totals."""
    totals = []
    for repetition in range(repetitions):
        spec = RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=40, feedback=feedback)
        frame = trace(40, 0.5, np.random.default_rng(np.random.SeedSequence([repetition])))
        frame["regret"] += extra * (1 + 0.1 * repetition) / 40
        totals.append(float(frame["regret"].sum()))
        store.write(RunRecord(spec, "done", frame, facts={"optimum": 1.0}))
    return np.array(totals)


def test_the_delay_cost_is_the_paired_difference_with_immediate_feedback(tmp_path: Path) -> None:
    store = Store(tmp_path)
    base = write(store, "GP-BUCB", "batch:1", 0.0)
    late = {d: write(store, "GP-BUCB", f"delay:{d}", float(d)) for d in (10, 2)}
    write(store, "GP-AUCB", "batch:1", 0.0)
    write(store, "GP-AUCB", "batch:5", 3.0)
    found = delay_studies(summarise(store))
    assert [(study.kind, list(study.tasks), list(study.costs)) for study in found] == [
        ("delay", [2.0, 10.0], ["GP-BUCB"]),
        ("batch", [5.0], ["GP-AUCB"]),
    ]
    for d, cost in found[0].costs["GP-BUCB"].items():
        expected = paired_difference(late[int(d)], base)
        assert cost.difference.estimate == pytest.approx(d * 1.15)
        assert cost.difference.low == pytest.approx(expected.low)
        assert cost.base == pytest.approx(base.mean())
        relative = ratio_interval(late[int(d)] - base, base)  # the base is measured as well
        found_ = (cost.relative.estimate, cost.relative.low, cost.relative.high)
        assert found_ == pytest.approx((relative.estimate, relative.low, relative.high))
        assert cost.difference.n == 4
        assert cost.regret == pytest.approx(late[int(d)].mean())


def test_noise_that_all_regimes_share_does_not_widen_the_delay_cost(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write(store, "GP-BUCB", "delay:0", 0.0)
    write(store, "GP-BUCB", "delay:4", 4.0)
    difference = delay_studies(summarise(store))[0].costs["GP-BUCB"][4.0].difference
    assert difference.high - difference.low < 2, "the extra differs by 10 % a repetition, the totals by far more"
    assert difference.low > 3


@pytest.mark.parametrize("base", ["batch:1", "delay:0", "geometric:0", "poisson:0", "workers:1"])
def test_all_regimes_without_delay_are_immediate(tmp_path: Path, base: str) -> None:
    store = Store(tmp_path)
    write(store, "GP-BUCB", base, 0.0, 2)
    write(store, "GP-BUCB", "workers:8", 1.0, 2)
    write(store, "GP-BUCB", "geometric:2.5", 1.0, 2)
    assert [(study.kind, study.base) for study in delay_studies(summarise(store))] == [
        ("geometric", _name(store, base)),
        ("workers", _name(store, base)),
    ]


def write_family(store: Store, feedback: str, members: list[int]) -> None:
    """Runs of a repetition each, whose total regret is 1000 times their member, plus 8 where feedback is late."""
    for repetition, member in enumerate(members):
        spec = RunSpec(
            env=ENV, agent=Ref("GP-BUCB"), repetition=repetition, horizon=40, feedback=feedback, member={"norm": member}
        )
        frame = trace(40, 0.5, np.random.default_rng(0))
        frame["regret"] = (1000.0 * member + 8.0 * (feedback != "batch:1")) / 40
        store.write(RunRecord(spec, "done", frame, facts={"optimum": 1.0}))


def test_members_of_a_family_are_compared_with_themselves(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write_family(store, "batch:1", [1, 2, 3, 1, 2, 3, 1])
    write_family(store, "batch:4", [1, 3, 2, 1, 3, 2, 1])
    write_family(store, "delay:4", [3, 1, 2, 3, 1, 2, 3])  # never the member of the same repetition
    (study,) = delay_studies(summarise(store))
    assert study.kind == "batch"
    cost = study.costs["GP-BUCB"][4.0]
    assert cost.difference.n == 3
    assert cost.base == pytest.approx(1000.0)
    ends = (cost.difference.estimate, cost.difference.low, cost.difference.high)
    assert ends == pytest.approx((8.0, 8.0, 8.0))


def _name(store: Store, feedback: str) -> str:
    return next(name for name, task in summarise(store).tasks.items() if task.feedback == feedback)


def test_without_an_immediate_task_or_a_pair_of_runs_there_is_no_delay_cost(tmp_path: Path) -> None:
    def found(name: str, *written: tuple[str, str, int, Ref]) -> list[DelayStudy]:
        store = Store(tmp_path / name)
        for agent, feedback, repetitions, env in written:
            write(store, agent, feedback, 0.0, repetitions, env)
        return delay_studies(summarise(store))

    other = Ref("GPBandit/RKHS-v0", {"n_arms": 7})
    assert found("no base", ("GP-BUCB", "delay:3", 2, ENV), ("GP-BUCB", "on_request", 2, ENV)) == []
    assert found("two agents", ("GP-BUCB", "delay:3", 2, ENV), ("Uniform", "batch:1", 2, ENV)) == []
    assert found("two environments", ("GP-BUCB", "delay:3", 2, ENV), ("GP-BUCB", "batch:1", 2, other)) == []
    one = found("one repetition", ("GP-BUCB", "delay:3", 3, ENV), ("GP-BUCB", "batch:1", 1, ENV))
    cost = one[0].costs["GP-BUCB"][3.0]
    assert cost.difference.n == 1
    assert not cost.difference.is_known
