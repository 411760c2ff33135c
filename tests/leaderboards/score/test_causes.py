"""Causes that are planted into the runs of a made-up board: each is found, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaderboards.archive.files import Source
from leaderboards.play.record import InstanceData, RunRecord
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.publish.make import write_board
from leaderboards.score.causes import Causes, Told, find_causes
from leaderboards.score.scores import AgentScores
from leaderboards.score.summary import Summary, summarise
from leaderboards.score.tasks import Task
from leaderboards.show.why import Why, sentence
from leaderboards.store.kept_audit import KeptAudit
from leaderboards.store.store import Store, StoreView

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
def kept(folder: Store, tmp_path_factory: pytest.TempPathFactory) -> StoreView:
    """The same as a board keeps them: no traces, sixty evaluations, sixteen bits."""
    suite = planted_suite()
    source = Source(standing="submitted", by="nobody", version="0")
    sources = {entry.ref.key: source for entry in suite.agents}
    return write_board(suite, tmp_path_factory.mktemp("boards") / "planted", folder, sources=sources)


@pytest.fixture(params=["folder", "kept"])
def view(request: pytest.FixtureRequest) -> StoreView:
    found: StoreView = request.getfixturevalue(request.param)
    return found


def causes(view: StoreView) -> tuple[Summary, dict[tuple[str, str], Causes]]:
    summary = summarise(view)
    why = Why(summary, view, {})
    return summary, {
        (task, agent): found for task, agent in summary.scores if (found := why.causes(task, agent)) is not None
    }


def named(found: Causes) -> set[str]:
    there = {name for name in ("decisions", "exploration", "traps") if getattr(found, name) is not None}
    return there | ({"told"} if found.told_wrong else set())


def test_each_planted_cause_is_found_and_no_other(view: StoreView) -> None:
    _, found = causes(view)
    planted = {
        "Uniform": {"exploration"},
        "in batches": {"decisions"},
        "explorer": {"exploration"},
        "trapped": {"traps"},
    }
    for task in (TRUE, WRONG, LATE):
        for label in PLANS:
            expected = set(planted.get(label, set()))
            if task == LATE:  # the same traces, of which the feedback model alone says that results were late
                expected |= {"decisions"}
            if task == WRONG and label != "Uniform":  # which is told nothing
                expected |= {"told"}
            assert named(found[task, label]) == expected, (task, label)


def test_decisions_are_counted(view: StoreView) -> None:
    _, found = causes(view)
    one = found[TRUE, "in batches"].decisions
    assert one is not None
    assert (one.evaluations, one.batches, one.feedback) == (T, T / 10, "")
    late = found[LATE, "learner"].decisions
    assert late is not None
    assert (late.batches, late.feedback) == (None, "delay 5")


def test_exploration_is_measured(view: StoreView) -> None:
    """By the traces: what the evaluations after the middle cost, and how many arms were different."""
    summary, found = causes(view)
    for label in ("explorer", "Uniform"):
        scores, one = summary.scores[TRUE, label], found[TRUE, label].exploration
        assert one is not None
        assert one.repetitions == N
        middle = int(scores.t[scores.t >= T / 2][0])
        traces = [trace(label, r) for r in range(N)]
        costs = [float(frame.regret[middle:].mean() / gaps(r).mean()) for r, frame in enumerate(traces)]
        assert one.cost.estimate == pytest.approx(np.mean(costs), rel=2.0**-12)
        if isinstance(view, Store):
            assert one.arms == np.mean([frame.action.nunique() for frame in traces])
        else:
            assert one.arms is None, "a board keeps no arms"
    assert found[TRUE, "Uniform"].exploration.is_meant  # type: ignore[union-attr]
    assert not found[TRUE, "explorer"].exploration.is_meant  # type: ignore[union-attr]


def test_traps_are_measured(view: StoreView) -> None:
    summary, found = causes(view)
    one, t = found[TRUE, "trapped"].traps, summary.scores[TRUE, "trapped"].t
    assert one is not None
    assert (one.repetitions, one.is_alone) == (len(TRAPPED), True)
    # The first evaluation that is kept from there on is where it is seen.
    seen = [int(t[np.searchsorted(t, start - 1)]) + 1 for start in TRAPPED.values()]
    assert one.start == int(np.median(seen))
    assert one.loss == pytest.approx(np.mean([gaps(r)[bad(r)] / gaps(r).mean() for r in TRAPPED]), rel=2.0**-10)
    lost = sum((T - begin + 1) * gaps(r)[bad(r)] for r, begin in zip(TRAPPED, seen))
    total = sum(trace("trapped", r).regret.sum() for r in range(N))
    assert one.share == pytest.approx(lost / total, rel=2.0**-10)


def test_an_agent_that_ends_on_the_best_arm_has_settled(view: StoreView) -> None:
    summary, found = causes(view)
    one, t = found[TRUE, "settled"], summary.scores[TRUE, "settled"].t
    assert (one.settled, one.settled_from) == (N, int(t[t >= 40][0]) + 1)
    assert found[TRUE, "learner"].settled < N / 2
    assert sentence(one) == f"From evaluation {one.settled_from} on without regret."


def test_what_was_told_wrong_is_that_which_the_agent_reads(folder: Store) -> None:
    summary = summarise(folder)
    scores, task = summary.scores[WRONG, "learner"], summary.tasks[WRONG]
    both = Task(**{**vars(task), "misspecification": {"lengthscale": 0.5, "noise": 3.0, "norm": 2.0, "sup": 0.1}})
    for needs, expected in (
        (("kernel",), {"lengthscale": 0.5, "sup": 0.1}),
        (("noise", "norm"), {"noise": 3.0, "norm": 2.0}),
        ((), {}),
    ):
        assert find_causes(scores, both, Told(needs)).told_wrong == expected
    assert find_causes(scores, task, Told(("kernel",))).told_wrong == {"lengthscale": FACTOR}


def test_a_few_arms_that_cost_what_uniform_draws_cost_are_no_exploration(folder: Store) -> None:
    """Two arms in turn, one better and one worse than a uniform draw by as much."""
    summary = summarise(folder)
    t = np.arange(1, T + 1)
    total = np.stack([np.cumsum(np.where(t % 2, 0.5, 1.5)) for _ in range(N)])
    scores = AgentScores(
        t,
        tuple((0, r) for r in range(N)),
        {"cumulative_regret": total},
        {"batches": np.full(N, T)},
        gaps=np.ones(N),
        arms=np.full(N, 2.0),
    )
    task = summary.tasks[TRUE]
    assert find_causes(scores, task, Told(n_arms=A)).exploration is None
    assert find_causes(scores, task).exploration is not None, "without the number of arms nothing tells the two apart"


def test_where_most_actions_are_alike_one_regret_is_no_trap(folder: Store) -> None:
    task, t = summarise(folder).tasks[TRUE], np.arange(1, T + 1)

    def scores(regret: np.ndarray) -> AgentScores:
        blocks = tuple((0, r) for r in range(len(regret)))
        total, n = np.cumsum(regret, axis=1), len(regret)
        return AgentScores(t, blocks, {"cumulative_regret": total}, {"batches": np.full(n, T)}, gaps=np.ones(n))

    rng = np.random.default_rng(0)
    flat = np.where(rng.random((N, T)) < 0.5, 1.0, rng.random((N, T)))
    same, uniform, other = scores(np.ones((N, T))), scores(flat), scores(rng.random((N, T)))
    alone = find_causes(same, task, uniform=other).traps
    assert alone is not None
    assert alone.is_alone
    unknown = find_causes(same, task).traps
    assert unknown is not None
    assert not unknown.is_alone
    assert "one and the same regret" in sentence(find_causes(same, task))
    assert find_causes(same, task, uniform=uniform).traps is None


def test_rounding_neither_hides_nor_makes_a_trap() -> None:
    """Regret to sixteen bits at sixty evaluations: 300 agents that stay, and 300 that never take an arm twice."""
    from leaderboards.archive.files import _rounded
    from leaderboards.score.causes import _straight_from
    from leaderboards.score.scores import best_times

    rng = np.random.default_rng(1)
    for _ in range(300):
        horizon = int(rng.integers(30, 1_000))
        t, regret = best_times(horizon), rng.random(horizon)
        start = int(rng.integers(1, horizon // 2))
        staying = np.where(np.arange(horizon) < start, regret, 10.0 ** rng.uniform(-3, 1))
        for values, stays in ((staying, True), (regret, False)):
            total = np.cumsum(values)
            kept = np.asarray(_rounded(total[t - 1], 16), np.float64)
            kept[-1] = total[-1]
            found = t[_straight_from(t, kept[None])[0]]
            assert (found <= t[t >= start][0]) if stays else (found > horizon / 2)


def test_the_width_that_is_stated_is_that_of_the_last_evaluation(tmp_path: Path) -> None:
    """`exp(C) sqrt(2 log(A T^2 pi^2 / (6 delta)))`, where C is what nine open evaluations may tell."""
    import leaderboards
    from agents.exact.gp_bucb import GPBUCB
    from leaderboards.play.run import instance_env
    from leaderboards.play.spec import Ref, RunSpec

    kwargs = {"n_arms": 40, "dim": 2, "noise_std": 0.05}
    chosen = {"Uniform": "Uniform", "wide": ("GP-BUCB", {"width": "bayes"})}
    suite = {"name": "w", "horizon": 60, "repetitions": 4, "environments": [("GPBandit/GPSample-v0", kwargs)]}
    leaderboards.run_suite(suite, chosen, out=tmp_path / "runs", progress=False)
    view = Store(tmp_path / "runs")
    summary = summarise(view)
    (task,) = summary.tasks
    found = Why(summary, view).causes(task, "wide")
    assert found is not None
    assert found.exploration is not None
    stated = found.exploration.stated
    assert stated is not None
    spec = RunSpec(env=summary.tasks[task].env, agent=Ref("Uniform"), repetition=0, horizon=60)
    with instance_env(spec) as (_, problem):
        policy = GPBUCB(width="bayes")
        policy.reset(problem, np.random.default_rng(0))
    alone = np.sqrt(2 * np.log(problem.n_arms * 60**2 * np.pi**2 / (6 * policy.model.delta)))
    assert stated.width == pytest.approx(policy.batch_ratio * alone)
    assert stated.batch_ratio == pytest.approx(policy.batch_ratio)
    assert f"its width at the end {stated.width:.3g} standard deviations" in sentence(found)
    assert "where uniform draws reach" in sentence(found)


def test_audits_say_how_much_of_the_band_was_needed(folder: Store) -> None:
    summary = summarise(folder)
    scores, task = summary.scores[WRONG, "explorer"], summary.tasks[WRONG]

    def audit(required: float, refuted: bool) -> KeptAudit:
        return KeptAudit(
            width="theory",
            kind="proven",
            theorem="",
            no_guarantee="",
            no_band="",
            delta=0.1,
            refuted=refuted,
            times=5,
            first_violation=None,
            violations=0,
            required_scaling=required,
            half_width=31.0,
            informative=0.0,
            regret_bound=None,
            regret_held=None,
        )

    found = find_causes(scores, task, Told(("kernel",)), [audit(0.01, True), audit(0.04, False)])
    assert found.exploration is not None
    assert found.exploration.band is not None
    assert found.exploration.band.half_width == 31
    assert found.exploration.band.required == pytest.approx(0.02)
    text = sentence(found)
    assert "\N{PLUS-MINUS SIGN}31" in text
    assert "refuted in 1 of 2 audited repetitions" in text


def test_a_sentence_names_all_causes_in_order(view: StoreView) -> None:
    _, found = causes(view)
    text = sentence(found[WRONG, "in batches"])
    assert text.startswith("In batches of 10: 20 decisions in 200 evaluations; ")
    assert text.endswith("; told a lengthscale 3 times the true one.")
    assert "never left exploration" in sentence(found[TRUE, "explorer"])
    assert "as it is meant to" in sentence(found[TRUE, "Uniform"])
    assert f"rapped in {len(TRAPPED)} of {N} repetitions: from evaluation" in sentence(found[TRUE, "trapped"])
