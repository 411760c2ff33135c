"""Grids: an environment a combination of levels, with the same functions where no function depends on them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leaderboards
from leaderboards.api.results import Results
from leaderboards.play.run import instance_env, run_spec
from leaderboards.play.spec import Ref, RunSpec, env_seed
from leaderboards.play.suite import Suite, SuiteError, load_suite, not_in_suite, parse_suite
from leaderboards.publish.boards import Board
from leaderboards.publish.holdout import _drawn
from leaderboards.publish.make import _note, write_board
from leaderboards.score.summary import summarise
from leaderboards.show.chart import charts_on, tasks_view
from leaderboards.show.format import row_command
from leaderboards.show.rebuilt import check_size, first_problem
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from leaderboards.verify.screen import chance
from leaderboards.verify.verify import verify
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing

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
    suite: Any = swept.suite
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


# ---- tasks that are families of environments: each repetition plays one member, and its spec alone says which ----


DIMENSIONS = (1, 2, 3)
KERNELS = {str(dim): {"kernel": {"name": "matern", "lengthscale": 0.1 * dim, "nu": 2.5}} for dim in DIMENSIONS}
VALUES: dict[str, Any] = {
    "name": "family",
    "horizon": 8,
    "repetitions": 7,
    "environments": [
        {
            "id": "GPBandit/RKHS-v0",
            "label": "Family",
            "kwargs": {"n_arms": 30, "rows": 20},
            "members": {"dim": list(DIMENSIONS)},
            "kernels": KERNELS,
        },
        {"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 20}},
    ],
    "agents": ["Uniform", {"id": "GP-UCB", "kwargs": {"width": 2.0}}],
}


def family(**changes: Any) -> Suite:
    return parse_suite(VALUES | changes)


def of_family(suite: Suite) -> list[RunSpec]:
    return [spec for spec in suite.specs() if spec.env.label == "Family"]


def test_members_are_balanced_and_the_same_for_all_agents_of_a_repetition() -> None:
    specs = of_family(family())
    dims = {spec.repetition: spec.member["dim"] for spec in specs}
    assert all(spec.member["dim"] == dims[spec.repetition] for spec in specs)
    assert sorted(Counter(dims.values()).values()) == [2, 2, 3]
    assert [dims[r] for r in range(3)] == [dims[r + 3] for r in range(3)]  # they take turns
    assert set(DIMENSIONS) == {dims[r] for r in range(3)}
    assert all(spec.member["kernel"] == KERNELS[str(spec.member["dim"])]["kernel"] for spec in specs)
    assert len({spec.task for spec in specs}) == 1
    assert len({spec.key for spec in specs}) == len(specs)
    orders = {tuple(spec.member["dim"] for spec in of_family(family(seed=seed))[::2][:3]) for seed in range(20)}
    assert len(orders) > 1  # which belongs to the root seed


@pytest.mark.slow
def test_tasks_that_are_no_families_have_the_specs_keys_and_texts_that_they_had() -> None:
    spec = next(spec for spec in family().specs() if spec.env.label == "RKHS")
    assert "member" not in spec.to_dict()
    board = Board(Path(leaderboards.__file__).parent / "boards" / "feedback-v1")
    listed = {spec.key for spec in load_suite("feedback-v1").specs()}
    assert board.done_keys() <= listed
    frozen = load_suite("feedback-v1").frozen().model_dump(mode="json")
    assert all(entry.keys().isdisjoint({"members", "kernels"}) for entry in frozen["environments"])


def test_a_spec_alone_replays_its_run() -> None:
    for spec in of_family(family())[1:6:2]:
        again = RunSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
        assert again == spec
        assert again.key == spec.key
        first, second = run_spec(spec), run_spec(again)
        assert first.status == "done"
        assert first.data.instance == second.data.instance
        same = [name for name in first.trace if name != "policy_seconds"]
        assert first.trace[same].equals(second.trace[same])
        plain = leaderboards.run(
            (spec.env.id, {**spec.env.kwargs, **spec.member}), ("GP-UCB", {"width": 2.0}), spec.repetition, 8
        )
        assert plain.trace[same].equals(first.trace[same])


def test_repetitions_of_one_member_have_rows_of_their_own() -> None:
    specs = [spec for spec in of_family(family()) if spec.agent.id == "Uniform"]
    same = [spec for spec in specs if spec.member == specs[0].member]
    arms = []
    for spec in same:
        with instance_env(spec) as (_, problem):
            assert problem.kernel is not None
            assert problem.kernel.to_spec()["lengthscale"] == 0.1 * spec.member["dim"]
            assert problem.arms is not None
            arms.append(problem.arms)
    assert len(arms) >= 2
    assert arms[0].shape == (20, specs[0].member["dim"])
    assert not np.array_equal(arms[0], arms[1])


def test_a_family_is_one_task_of_a_folder_a_board_and_the_pages(tmp_path: Path) -> None:
    suite = family(repetitions=4)
    store = Store(tmp_path / "res")
    run_missing(list(suite.specs()), store, SerialExecutor())
    store.write_suite(suite)
    _note(store, suite)
    assert store.suite() == suite.frozen()
    summary = summarise(store)
    assert list(summary.tasks) == ["Family", "RKHS"]
    assert len(summary.scores["Family", "GP-UCB"]) == 4
    assert len({member["dim"] for member in summary.tasks["Family"].members.values()}) == 3
    assert summary.tasks["RKHS"].members == {}
    first: Any = first_problem(summary, "Family")
    assert first.dim == summary.tasks["Family"].members[0, 0]["dim"]
    board = write_board(suite, tmp_path / "board", store)
    assert {key: run.spec for key, run in Board(board.directory).entries().items()} == {
        spec.key: spec for spec in suite.specs()
    }
    assert board.suite().environments[0].variants == suite.environments[0].variants
    keys = [spec.key for spec in of_family(suite) if spec.repetition == 3]
    assert [verdict.level for verdict in verify(store, keys, tmp_path / "again", SerialExecutor())] == ["identical"] * 2


def test_another_member_than_the_suites_is_no_run_of_it() -> None:
    suite = family()
    spec = of_family(suite)[0]
    easy = next(one.member for one in of_family(suite) if one.member != spec.member)
    cheat = replace(spec, member=easy)
    more = replace(spec, repetition=9, member=suite.tasks[0].member(0, 9))
    assert not_in_suite(suite, {one.key: one for one in suite.specs()}) == []
    assert not_in_suite(suite, {cheat.key: cheat, more.key: more}) == [cheat.key]


@pytest.mark.slow
def test_the_command_of_a_row_plays_each_repetition_on_its_member(tmp_path: Path) -> None:
    suite, store = family(repetitions=3), Store(tmp_path)
    run_missing(list(suite.specs()), store, SerialExecutor())
    store.write_suite(suite)
    summary = summarise(store)
    scores = summary.scores["Family", "GP-UCB"]
    text: Any = row_command(summary.tasks["Family"], summary.agents["GP-UCB"], scores.blocks)
    done = subprocess.run(
        [sys.executable, *shlex.split(text)[1:]], capture_output=True, text=True, check=True
    ).stdout.split()
    played = {spec.repetition: spec.key for spec in of_family(suite) if spec.agent.id == "GP-UCB"}
    assert [float(word) for word in done[1::2]] == [store.trace(played[r])["regret"].sum() for r in range(3)]


def test_what_a_row_was_tuned_on_is_kept_and_nothing_is_written_where_it_is_not_declared() -> None:
    agents = [{"id": "Uniform"}, {"id": "GP-UCB", "tuned": "Nothing."}]
    kept = family(agents=agents).frozen().model_dump(mode="json")["agents"]
    assert "tuned" not in kept[0]
    assert kept[1]["tuned"] == "Nothing."


FILE = """
name = "mine"
horizon = 5
repetitions = 2
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = { n_arms = 20 }
members = { dim = [1, 2] }
kernels = "settings.json"
[[agents]]
id = "Uniform"
"""


def test_kernels_are_a_file_beside_the_suites_by_its_label(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    settings = {"families": {"RKHS": {"members": {"1": {"norm": 2.0}, "2": {"norm": 3.0}}}}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    suite = load_suite(str(tmp_path / "mine.toml"))
    assert suite.environments[0].variants == ({"dim": 1, "norm": 2.0}, {"dim": 2, "norm": 3.0})
    assert parse_suite(suite.frozen().model_dump(mode="json")) == suite.frozen().model_copy(
        update={"source": suite.source}
    )


@pytest.mark.parametrize(
    ("change", "file", "named"),
    [
        (("settings.json", "gone.json"), {}, "environments.0.kernels.*gone.json"),
        ((), {}, "environments.0.kernels.*'families'"),
        ((), {"families": {"Other": {}}}, "environments.0.kernels.*'RKHS'.*KeyError"),
        ((), {"families": {"RKHS": {"members": {"1": {}}}}}, "kernels.*dim 2"),
        ((), {"families": {"RKHS": {"members": {"1": {}, "2": {"n_arms": 3}}}}}, "kernels.*'n_arms'.*dim 2"),
        (("members = { dim = [1, 2] }", ""), {"families": {"RKHS": {"members": {}}}}, None),
        (("dim = [1, 2]", "dim = [1, 1]"), {"families": {"RKHS": {"members": {"1": {}}}}}, "members.*'dim'.*1 twice"),
        (("dim = [1, 2]", "dim = []"), {"families": {"RKHS": {"members": {}}}}, "members.*'dim'.*none"),
        (("dim = [1, 2]", "dim = [1], norm = [2]"), {"families": {"RKHS": {"members": {}}}}, "members.*dim, norm"),
        (("dim = [1, 2]", "n_arms = [1]"), {"families": {"RKHS": {"members": {}}}}, "members.*kwargs.*'n_arms'"),
        ((), {"families": {"RKHS": {"membrs": {}}}}, "environments.0.kernels.*'members'.*'RKHS'.*settings.json"),
        (('id = "GPBandit/RKHS-v0"\n', ""), {"families": {}}, "environments.0.id"),
        (('id = "GPBandit/RKHS-v0"', "id = 3"), {"families": {}}, "environments.0.id"),
        (("members", "menbers"), {"families": {"RKHS": {"members": {"1": {}}}}}, "environments.0.menbers.*members"),
    ],
)
def test_a_wrong_key_is_told(tmp_path: Path, change: tuple[str, str] | tuple[()], file: Any, named: str | None) -> None:
    (tmp_path / "mine.toml").write_text(FILE.replace(*change) if change else FILE)
    (tmp_path / "settings.json").write_text(json.dumps(file))
    if named is None:
        assert load_suite(str(tmp_path / "mine.toml")).environments[0].variants == ()
        return
    with pytest.raises(SuiteError, match=named):
        load_suite(str(tmp_path / "mine.toml"))


def test_a_members_argument_is_checked_before_anything_runs() -> None:
    entry = {"id": "GPBandit/RKHS-v0", "members": {"dimm": [1]}}
    with pytest.raises(SuiteError, match=r"environments, 'RKHS'.*'dimm'"):
        parse_suite(VALUES | {"environments": [entry]}).check()
    twins = [VALUES["environments"][0], VALUES["environments"][0] | {"label": "Twin", "members": {"dim": [1]}}]
    with pytest.raises(SuiteError, match=r"'Family' and 'Twin'.*members"):
        parse_suite(VALUES | {"environments": twins}).check()


def test_the_size_of_a_member_is_checked_as_that_of_its_environment() -> None:
    """Results may be a stranger's."""
    spec = replace(of_family(family())[0], env=Ref("GPBandit/RKHS-v0"), member={"n_arms": 10**9})
    with pytest.raises(ValueError, match="arms"):
        check_size(spec.built.kwargs)


def test_hold_out_instances_are_of_all_members_in_turn() -> None:
    suite = family()
    recorded = {spec.task: spec for spec in suite.specs()}  # the last repetition of each, with its member
    drawn = [spec for spec in _drawn(suite, recorded, 5, 6) if spec.env.label == "Family"]
    assert Counter(spec.member["dim"] for spec in drawn) == dict.fromkeys(DIMENSIONS, 2)
    assert not_in_suite(suite.model_copy(update={"seed": 5}), {spec.key: spec for spec in drawn}) == []


def test_further_instances_of_a_family_are_of_its_members() -> None:
    """Twenty instances are looked at; those that nobody has played are of the members that somebody has."""
    played = {spec.repetition: spec for spec in of_family(family()) if spec.agent.id == "Uniform"}
    one = {r: replace(spec, member=played[0].member) for r, spec in played.items()}
    assert chance(played) != chance({0: one[0]})


def test_a_member_cannot_overrule_the_entry() -> None:
    spec = of_family(family())[0]
    with pytest.raises(ValueError, match=r"member.*'n_arms'"):
        replace(spec, member={"n_arms": 5})
    with pytest.raises(TypeError, match=r"member.*mapping.*3"):
        replace(spec, member=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"mapping from names.*4"):
        replace(spec, member={4: 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"finite.*RKHS"):
        replace(spec, member={"norm": float("nan")})


def test_a_member_is_what_its_settings_say_whatever_their_types() -> None:
    spec = of_family(family())[0]
    texts = [replace(spec, member={"norm": 2.0, "kernel": {"name": "se", "lengthscale": 1}})]
    texts.append(replace(spec, member={"kernel": {"lengthscale": np.float64(1.0), "name": "se"}, "norm": np.int64(2)}))
    assert len({each.key for each in texts}) == len({each.built.key for each in texts}) == 1
    assert replace(spec, member={"norm": 3.0}).built.kwargs["norm"] == 3.0
    assert replace(spec, member={"norm": 3.0}).key != texts[0].key
