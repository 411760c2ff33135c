"""Grids: an environment a combination of levels, with the same functions where no function depends on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leaderboards
from leaderboards.api.results import Results
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref, RunSpec, env_seed
from leaderboards.play.suite import Suite, SuiteError, parse_suite
from leaderboards.score.summary import summarise
from leaderboards.show.chart import charts_on, tasks_view
from leaderboards.show.format import row_command
from leaderboards.show.shared import Site

NOISES, DIMS = [0.1, 1], [1, 2]
RKHS: dict[str, Any] = {"id": "GPBandit/RKHS-v0", "label": "rkhs", "kwargs": {"n_arms": 50}}
SWEEP: dict[str, Any] = {
    "name": "sweep",
    "horizon": 12,
    "repetitions": 6,
    "environments": [{**RKHS, "grid": {"noise_std": NOISES, "dim": DIMS}}],
    "agents": ["Uniform", "GP-UCB"],
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return leaderboards.run_suite(SWEEP, out=tmp_path_factory.mktemp("sweep"), progress=False)


def _specs(suite: Suite) -> dict[str, RunSpec]:
    return {spec.env.label: spec for spec in suite.specs() if spec.repetition == 0 and spec.agent.id == "Uniform"}


def test_uniforms_regret_does_not_change_with_noise(swept: Results) -> None:
    scores = swept.scores()
    assert list(scores)[:4] == ["task", "noise_std", "dim", "agent"]
    regret = scores[scores["metric"] == "cumulative_regret"].set_index(["agent", "dim", "noise_std"])["mean"]
    for dim in DIMS:
        assert regret["Uniform", dim, 0.1] == regret["Uniform", dim, 1.0]
        assert regret["GP-UCB", dim, 0.1] != regret["GP-UCB", dim, 1.0]
    assert regret["Uniform", 1, 0.1] != regret["Uniform", 2, 0.1]
    runs = swept.runs()
    assert set(zip(runs["env"], runs["noise_std"], runs["dim"])) == {
        (f"rkhs, noise_std {noise}, dim {dim}", noise, dim) for noise in NOISES for dim in DIMS
    }


def test_levels_share_functions_and_variates_of_noise() -> None:
    specs = _specs(parse_suite(SWEEP))
    means, noises = {}, {}
    for label, spec in specs.items():
        with instance_env(spec) as (env, _):
            means[label] = env.function.mean
            noises[label] = env.recipe.noise.draw(env.stream("noise"), 12)
    quiet, loud = "rkhs, noise_std 0.1, dim 1", "rkhs, noise_std 1, dim 1"
    assert np.array_equal(means[quiet], means[loud])
    assert np.array_equal(noises[quiet], noises[loud])
    assert not np.array_equal(means[quiet], means["rkhs, noise_std 0.1, dim 2"])
    # The streams are those of the environment that states no noise at all.
    plain = RunSpec(env=Ref(RKHS["id"], {"n_arms": 50, "dim": 1}), agent=Ref("Uniform"), repetition=0, horizon=12)
    assert env_seed(specs[quiet]) == env_seed(plain)
    assert len({spec.key for spec in specs.values()}) == 4


def test_members_take_turns_alike_at_every_level() -> None:
    values = list(range(7))
    entry = {**RKHS, "grid": {"noise_std": NOISES}, "members": {"dim": values}}
    suite = parse_suite({**SWEEP, "environments": [entry]})
    turns = [[task.member(0, r)["dim"] for r in range(7)] for task in suite.tasks]
    assert turns[0] == turns[1] != values


def test_a_suite_without_a_grid_has_the_keys_that_it_had() -> None:
    plain = parse_suite({**SWEEP, "environments": [RKHS]})
    spec = next(plain.specs())
    assert "grid" not in plain.environments[0].model_dump()
    assert spec.env.to_dict() == {"id": RKHS["id"], "kwargs": {"n_arms": 50}, "label": "rkhs"}
    assert spec.key == "42cfa0dfbc64009609fdd4e9e040aa5b"
    assert env_seed(spec) == 7314754832375170924


def test_a_stored_suite_and_its_specs_are_the_same_again(swept: Results) -> None:
    suite = swept.suite
    assert suite is not None
    assert parse_suite(suite.model_dump()).model_dump() == suite.model_dump()
    keys = [spec.key for spec in suite.specs()]
    assert sorted(swept.store.keys()) == sorted(keys)
    assert [RunSpec.from_dict(spec.to_dict()).key for spec in suite.specs()] == keys
    assert [spec.key for spec in parse_suite(SWEEP).specs()] == keys


def test_a_chart_has_regret_against_each_argument(swept: Results) -> None:
    site = Site(summarise(swept.store))
    charts = {one.key: one for one in charts_on("tasks", tasks_view(site, list(site.summary.tasks), None))}
    first, second = charts["sweep-0"], charts["sweep-1"]
    assert (first.x.label, second.x.label) == ("noise_std", "dim")
    assert [line.name for line in first.lines] == ["Uniform", "GP-UCB"]
    uniform = first.lines[0]
    assert uniform.x.tolist() == NOISES
    assert uniform.y[0] == uniform.y[1]
    assert uniform.low is not None
    assert uniform.high is not None
    assert (uniform.low < uniform.y).all()
    assert (uniform.y < uniform.high).all()
    assert "Regret against noise_std" in swept.page().read_text()
    assert row_command(site.summary.tasks["rkhs, noise_std 1, dim 1"], Ref("Uniform"), ((0, 0),)) is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"grid": {"noise_std": []}}, r"grid: expected one or more different values of 'noise_std', got \[\]"),
        ({"grid": {"noise_std": [1, 1]}}, "grid: expected one or more different values"),
        ({"grid": {"n_arms": [10]}}, "grid: expected an argument that is not among kwargs, got 'n_arms'"),
        ({"grid": {"dim": [1]}, "members": {"dim": [2]}}, "grid: expected an argument that is not among members"),
        ({"grid": {"a": range(2000), "b": range(2000)}}, "grid: expected at most 10,000 combinations"),
        ({"grid": {"noise_std": 1}}, "key 'environments.0.grid.noise_std'"),
    ],
)
def test_a_wrong_grid_is_named(entry: dict[str, Any], message: str) -> None:
    entry = {**entry, "grid": {name: list(v) if isinstance(v, range) else v for name, v in entry["grid"].items()}}
    with pytest.raises(SuiteError, match=message):
        parse_suite({**SWEEP, "environments": [{**RKHS, **entry}]})


def test_a_misspelt_argument_is_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"'rkhs, noise_sd 1': .*noise_sd"):
        leaderboards.run_suite({**SWEEP, "environments": [{**RKHS, "grid": {"noise_sd": [1, 2]}}]}, out=tmp_path)
