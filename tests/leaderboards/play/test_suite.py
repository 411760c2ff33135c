""""""

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

import tests.leaderboards.play.players  # noqa: F401 - registers Test/Plain-v0
from gpbandit_envs.datasets import cards
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.spec import Ref, RunSpec, canonical_json, env_seed, generator, task_key
from leaderboards.play.suite import Suite, SuiteError, load_suite, parse_suite, source_of, suite_names

TEXT = """
name = "mine"
horizon = 30
repetitions = 2
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = { n_arms = 20 }
[[environments]]
id = "Test/Plain-v0"
horizon = 10
repetitions = 3
feedback = "batch:2"
[[agents]]
id = "Uniform"
[[agents]]
id = "EpsGreedy"
label = "greedy"
"""


def load(tmp_path: Path, text: str) -> Suite:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_suite(str(path))


@pytest.mark.parametrize("name", suite_names())
def test_suites_of_the_package_are_sound(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.description
    if any(entry.id.startswith(("BoTorch", "Optuna-GP", "agents.adapters")) for entry in suite.agents):
        for library in ("torch", "botorch", *(("baybe",) if name == "lab-outside" else ())):
            pytest.importorskip(library, reason=f"the suite {name} needs {library}")
    suite.check()


def test_the_quick_suite() -> None:
    suite = load_suite("quick")
    assert {"GPBandit/Abalone-v0", "GPBandit/RKHS-v0", "GPBandit/GPSample-v0"} <= {e.id for e in suite.environments}
    assert {"Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB", "BBKB"} <= {entry.id for entry in suite.agents}
    assert len(list(suite.specs())) >= 150
    assert suite.horizon >= 1000


def test_the_laboratory_suite_has_two_halves_that_share_no_family() -> None:
    suite, lite, real = load_suite("lab-v1"), load_suite("lab-lite"), {row.id: row.data for row in ENVIRONMENTS}
    families = {half: {e.id for e in suite.environments if e.half == half} for half in ("", "tuning", "held out")}
    assert not families[""]
    assert not families["tuning"] & families["held out"]
    looked_at = ("HPLC", "CrossedBarrel", "DirectArylation", "FCNet", "OERPlates")
    assert {f"GPBandit/{name}-v0" for name in looked_at} < families["tuning"]
    everything = families["tuning"] | families["held out"]
    assert len(suite.environments) >= 20
    assert len(everything) >= 12
    assert sum(real[id] is not None for id in everything) >= 7
    assert sum(real[id] is None for id in everything) >= 4
    noises = [entry.kwargs["noise_std"] for entry in suite.environments]
    assert set(noises) == {0.2, 1.0}
    assert abs(noises.count(0.2) - noises.count(1.0)) <= 1
    assert all(entry.kwargs["untold"] for entry in suite.environments)
    for entry in suite.environments:
        if (data := real[entry.id]) is not None and not entry.members:
            assert entry.kwargs["rows"] <= cards()[data].shape[0] / 2
    assert (suite.horizon, suite.feedback, suite.repetitions) == (96, "batch:8", 100)
    drawn = [task.key for task in suite.tasks if real[task.env.id] is None]
    assert [task.key for task in lite.tasks] == drawn
    with pytest.raises(SuiteError, match=r"environments\.0\.half"):
        parse_suite({**suite.model_dump(), "environments": [{"id": "GPBandit/RKHS-v0", "half": "both"}]})


def test_specs_go_repetition_by_repetition_with_the_settings_of_their_environment(tmp_path: Path) -> None:
    specs = list(load(tmp_path, TEXT).specs())
    assert [(s.repetition, s.env.label, s.agent.label) for s in specs[:4]] == [
        (0, "RKHS", "Uniform"),
        (0, "RKHS", "greedy"),
        (0, "Plain", "Uniform"),
        (0, "Plain", "greedy"),
    ]
    assert len(specs) == 2 * 2 + 3 * 2
    assert {(s.horizon, s.feedback) for s in specs} == {(30, "on_request"), (10, "batch:2")}


def test_frozen_form_is_the_same_suite(tmp_path: Path) -> None:
    suite = load(tmp_path, TEXT)
    again = Suite(**suite.frozen().model_dump())
    assert [s.key for s in again.specs()] == [s.key for s in suite.specs()]
    assert again.frozen() == suite.frozen()
    assert suite.frozen().environments[0].feedback == "on_request"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 30", "horizn = 30", r"unknown key 'horizn'; did you mean 'horizon'\?"),
        ("horizon = 30", "horizon = 0", "key 'horizon': .*greater than 0, got 0"),
        ("repetitions = 2", "repetitions = 'two'", "key 'repetitions': .*integer"),
        ("repetitions = 2", "repetitions = '2'", "key 'repetitions': .*expected an integer, got '2'"),
        ("horizon = 30", "horizon = true", "key 'horizon': .*expected an integer, got True"),
        ("horizon = 30", "horizon = 30\nseed = false", "key 'seed': .*expected an integer, got False"),
        ('label = "greedy"', 'lable = "x"', "unknown key 'agents.1.lable'; did you mean 'label'"),
        ('label = "greedy"', 'label = "Uniform"', "label 'Uniform' stands for several .*, ...}$"),
        ('feedback = "batch:2"', 'feedback = "dealy:3"', "feedback: expected 'on_request'.*, got 'dealy:3'$"),
        ('name = "mine"', 'name = "my suite"', "key 'name'"),
        ("[[agents]]", "[[agents", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        load(tmp_path, TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_arms = 20", "arms = 20", "environments, 'RKHS': .*unknown argument 'arms'; it takes .*n_arms"),
        ('"GPBandit/RKHS-v0"', '"GPBandit/RHKS-v0"', "did you mean 'GPBandit/RKHS-v0'"),
        ('"Uniform"', '"Unifrom"', "agents, 'Unifrom': .*did you mean 'Uniform'"),
        ('label = "greedy"', "kwargs = { nope = 1 }", "agents, 'EpsGreedy': .*unknown argument 'nope'"),
        (
            'label = "greedy"',
            'label = "x"\n[[agents]]\nid = "Uniform"\nlabel = "y"',
            "ask for the same runs of 'Uniform'",
        ),
        ('id = "EpsGreedy"', 'id = "no_such_module:Agent"', "No module named 'no_such_module'"),
        ('"EpsGreedy"', '"tests.leaderboards.play.players:Wosrt"', "has no attribute 'Wosrt'; did you mean 'Worst'"),
        ('"EpsGreedy"', '"tests.leaderboards.play.players:Mine"', "has no attribute 'Mine'; its agents are .*Worst"),
    ],
)
def test_wrong_ids_and_settings_are_found_before_a_run(tmp_path: Path, old: str, new: str, message: str) -> None:
    suite = load(tmp_path, TEXT.replace(old, new, 1))
    with pytest.raises(SuiteError, match=message):
        suite.check()


def test_what_is_wrong_with_a_list_of_entries_is_named() -> None:
    keys = {"name": "mine", "horizon": 3, "repetitions": 1, "environments": [{"id": "GPBandit/RKHS-v0"}]}
    for wrong, message in (
        ({"id": "Uniform"}, r"key 'agents': expected a list of entries, got a single one; write \[\[agents\]\] above"),
        ("Uniform", r"key 'agents': expected a list of entries, got 'Uniform'; for one, write \['Uniform'\]$"),
        ([{"id": "Uniform"}, 3], r"key 'agents.1': expected an id, or a table with id, kwargs, label, tuned, got 3$"),
        ([], "key 'agents': expected at least one entry, got none$"),
    ):
        with pytest.raises(SuiteError, match=message):
            parse_suite({**keys, "agents": wrong})


def test_an_id_is_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(
        'name = "short"\nhorizon = 3\nrepetitions = 1\nenvironments = ["GPBandit/RKHS-v0"]\n'
        'agents = ["Uniform", { id = "GP-UCB", kwargs = { width = 1.0 }, label = "narrow" }]\n'
    )
    tables = {
        "environments": [{"id": "GPBandit/RKHS-v0"}],
        "agents": [{"id": "Uniform"}, {"id": "GP-UCB", "kwargs": {"width": 1.0}, "label": "narrow"}],
    }
    suite = load_suite(str(path))
    written_out = parse_suite({"name": "short", "horizon": 3, "repetitions": 1, **tables})
    assert [spec.key for spec in suite.specs()] == [spec.key for spec in written_out.specs()]
    assert suite.frozen().model_dump(exclude={"source"}) == written_out.frozen().model_dump(exclude={"source"})
    path.write_text(path.read_text().replace("Uniform", "Unifrom"))
    with pytest.raises(SuiteError, match=r"suite 'short', agents, 'Unifrom': .*did you mean 'Uniform'"):
        load_suite(str(path)).check()


def test_a_part_of_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "part.toml"
    keys = {"name": '"part"', "description": '"x"', "part_of": '"feedback-v1"', "tasks": '["BPEF1"]'}
    keys["repetitions"] = "2"

    def written(keys: dict[str, str]) -> str:
        path.write_text("".join(f"{key} = {value}\n" for key, value in keys.items()))
        return str(path)

    part, whole = load_suite(written(keys)), load_suite("feedback-v1")
    assert {spec.key for spec in part.specs()} < {spec.key for spec in whole.specs()}
    assert (len(part.tasks), part.tasks[0].repetitions, len(part.agents)) == (1, 2, len(whole.agents))
    without = {key: value for key, value in keys.items() if key != "description"}
    for wrong in (without, {**keys, "horizon": "3"}):
        with pytest.raises(SuiteError, match="part of a suite: expected the keys name, description, part_of, tasks"):
            load_suite(written(wrong))


def test_unknown_suites(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"path of a TOML file, got 'quik'; did you mean 'quick'\?"):
        load_suite("quik")
    with pytest.raises(SuiteError, match="cannot be read"):
        load_suite(str(tmp_path / "nope.toml"))
    with pytest.raises(SuiteError, match="expected a name or the path of a TOML file, got the folder"):
        load_suite(str(tmp_path))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{}["weights"]', r"KeyError: 'weights' \(bad_agent\d+\.py, line 5\)"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(bad_agent\d+\.py, line 5\)"),
        ('open("weights.npz")', r"FileNotFoundError: .*No such file or directory: 'weights.npz' \(bad_agent\d+"),
        ("raise RuntimeError", r"RuntimeError \(bad_agent\d+\.py, line 5\)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("(", r"SyntaxError: .*bad_agent\d+\.py, line 5"),
    ],
)
def test_an_agent_that_cannot_be_built_is_named_with_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    module = f"bad_agent{abs(hash(body))}"
    head = "from tests.leaderboards.play.players import Counter\n\nclass Mine(Counter):\n    def __init__(self):\n"
    (tmp_path / f"{module}.py").write_text(f"{head}        {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    suite = load(tmp_path, TEXT.replace('id = "EpsGreedy"\nlabel = "greedy"', f'id = "{module}:Mine"'))
    with pytest.raises(SuiteError, match=rf"\Asuite 'mine', agents, 'Mine': {message}") as found:
        suite.check()
    assert "\n" not in str(found.value)


def test_a_suite_knows_what_it_was_given_as(tmp_path: Path) -> None:
    path = tmp_path / "quick.toml"
    path.write_text('part_of = "feedback-v1"\nname = "quick"\ndescription = ""\nrepetitions = 2\ntasks = ["BPEF1"]\n')
    named, there = load_suite("quick"), load_suite(str(path))
    assert (source_of(named), source_of(named.frozen())) == ("quick", "quick")
    assert source_of(there) == str(path)
    assert source_of(load_suite("feedback-v1/holdout")) == "feedback-v1/holdout"
    before = {"source": ""}
    assert source_of(named.model_copy(update=before)) == "quick", "as kept by earlier versions"
    assert source_of(there.model_copy(update=before)) == "", "given in Python, under the name of another"


# ---- spec ----


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
    assert generator(spec(), "env").random() != generator(spec(), "delay").random()
