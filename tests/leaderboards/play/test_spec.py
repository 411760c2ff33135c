from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.play.spec import Ref, RunSpec, canonical_json, env_seed, generator, stream, task_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def spec(**changes: object) -> RunSpec:
    fields: dict[str, object] = {
        "env": Ref("GPBandit/RKHS-v0", {"n_arms": 20, "lengthscale": 0.5}),
        "agent": Ref("GP-UCB", {"width": "practical"}),
        "repetition": 3,
        "horizon": 100,
        "seed": 7,
    }
    return RunSpec(**{**fields, **changes})  # type: ignore[arg-type]


def test_key_and_seed_never_change() -> None:
    # Stored results are found by their keys and reproduced by their seeds: another value here orphans them all.
    assert spec().key == "b51c9129b93182059d468d32d70750ec"
    assert env_seed(spec()) == 3706052281995780033


@given(JSON)
def test_round_trip(value: object) -> None:
    one = spec(agent=Ref("A", {"x": value}))
    for other in (RunSpec.from_dict(one.to_dict()), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert other.key == one.key


def test_what_enters_the_key() -> None:
    base = spec()
    assert spec(env=Ref("GPBandit/RKHS-v0", {"lengthscale": 0.5, "n_arms": 20.0}, "another label")).key == base.key
    others = [
        spec(repetition=4),
        spec(horizon=101),
        spec(seed=8),
        spec(feedback="batch:2"),
        spec(agent=Ref("GP-UCB")),
        spec(env=Ref("GPBandit/RKHS-v0")),
    ]
    assert len({base.key, *(other.key for other in others)}) == 7


def test_labels() -> None:
    assert Ref("GPBandit/RKHS-v0").label == "RKHS"
    assert Ref("package.module:MyUCB").label == "MyUCB"


def test_keys_of_tasks_and_pairs_leave_labels_out_and_hold_all_else() -> None:
    one = spec()
    assert one.task == task_key(one.env, one.horizon, one.feedback)
    renamed = replace(one, env=replace(one.env, label="x"), agent=replace(one.agent, label="y"))
    assert (renamed.task, renamed.pair) == (one.task, one.pair)
    assert Ref("E", {"x": 2}).key == Ref("E", {"x": 2.0}).key == canonical_json({"id": "E", "kwargs": {"x": 2}})
    for other in (replace(one, horizon=7), replace(one, feedback="batch:2"), replace(one, env=Ref("E"))):
        assert other.task != one.task
        assert other.pair != one.pair
    assert replace(one, agent=Ref("A")).task == one.task
    assert replace(one, agent=Ref("A")).pair != one.pair
    assert replace(one, repetition=5, seed=9).pair == one.pair


def test_objects_are_described_but_not_rebuildable() -> None:
    assert spec().rebuildable
    described = spec(agent=Ref("GP-UCB", {"kernel": Path("a"), "grid": np.arange(3)}))
    assert not described.rebuildable
    assert described.agent.kwargs["kernel"] == {"$object": "pathlib:PosixPath", "repr": "PosixPath('a')"}
    assert described.agent.kwargs["grid"] == [0, 1, 2]


@pytest.mark.parametrize(
    "made", [lambda v: lambda x: x + v, lambda v: pd.Series([0.0] * 99 + [v]), lambda v: functools.partial(print, v)]
)
def test_objects_whose_repr_is_the_same_are_told_apart(made: Callable[[float], object]) -> None:
    one, again, other = (Ref("GP-UCB", {"prior": made(v)}) for v in (1.0, 1.0, 2.0))
    assert one == again
    assert one.key == again.key != other.key


@pytest.mark.parametrize(
    ("field", "value"), [("repetition", -1), ("horizon", 0), ("horizon", 2.5), ("seed", True), ("feedback", "never")]
)
def test_bad_fields_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        spec(**{field: value})


def test_streams_depend_on_what_they_are_for_and_nothing_else() -> None:
    def draw(one: RunSpec, name: str = "agent") -> int:
        return int(generator(one, name).integers(2**62))

    same = [
        spec(agent=Ref("Other")),
        spec(horizon=5),
        spec(feedback="delay:3"),
        spec(env=Ref(spec().env.id, spec().env.kwargs, "x")),
    ]
    assert {draw(one) for one in same} == {draw(spec())}
    different = [spec(seed=8), spec(repetition=4), spec(env=Ref("GPBandit/RKHS-v0"))]
    assert len({draw(spec()), draw(spec(), "delay"), *(draw(one) for one in different)}) == 5


def test_repetitions_are_independent() -> None:
    draws = np.array([[generator(spec(repetition=r), n).standard_normal(50) for n in ("a", "b")] for r in range(100)])
    off_diagonal = np.corrcoef(draws.reshape(200, 50))[np.triu_indices(200, 1)]
    # Correlations of independent samples of size n have standard deviation 1 / sqrt(n - 1).
    assert np.sqrt(np.mean(off_diagonal**2)) == pytest.approx(1 / 7, rel=0.03)


def test_seeds_fit_63_bits() -> None:
    seeds = [env_seed(spec(repetition=r)) for r in range(200)]
    assert len(set(seeds)) == 200
    assert max(seeds) < 2**63
    assert max(seeds) > 2**62
    assert stream(spec(), "env").entropy != stream(spec(), "delay").entropy
