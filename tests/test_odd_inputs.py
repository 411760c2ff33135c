"""What is given in an odd form is taken, or refused in one line that names the argument and what to do."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import agents
import gpbandit_envs
import leaderboards
from gpbandit_envs.csv_file import read_csv
from gpbandit_envs.gp import as_kernel
from leaderboards.api.run_suite import as_suite
from leaderboards.play.suite import SuiteError, load_suite
from leaderboards.show.paper import escape_latex

pytestmark = [
    pytest.mark.usefixtures("own_ids"),
    pytest.mark.wrong_arguments,
    pytest.mark.filterwarnings("ignore:replicates. . of . candidates were measured once"),
]

from_table: Any = gpbandit_envs.from_table
from_function: Any = gpbandit_envs.from_function
log: Any = agents.log
Experiment: Any = agents.Experiment
run: Any = leaderboards.run
BIG = 10**400
TABLE = pd.DataFrame({"a": [1.0, 2, 3, 1], "b": ["u", "v", "u", "u"], "y": [1.0, 2, 3, 1.2]})
TWO_ROWS = pd.DataFrame({("set", "x"): [1.0, 2, 3], ("out", "y"): [1.0, 3, 2]})
SUITE: dict[str, Any] = {"name": "odd", "horizon": 2, "repetitions": 1, "agents": ["Random"]}
ENV = "GPBandit/GPSample-v0"


def total(x: np.ndarray) -> float:
    return float(np.sum(x))


def experiment(a: Any, **kwargs: Any) -> Any:
    return Experiment({"a": a}, "Random", **kwargs)


def refused(call: Callable[[], Any], *said: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    message = str(caught.value)
    assert all(part in message for part in said), message
    assert "\n" not in message
    assert len(message) < 500
    message.encode()


@pytest.mark.parametrize(
    "call",
    [
        lambda: Experiment(TWO_ROWS, outcome="y"),
        lambda: experiment((0, 5), outcome="y", data=TWO_ROWS),
        lambda: from_table(TWO_ROWS, target="y"),
        lambda: from_table(TABLE[["a", "y"]].groupby("a").agg(["mean", "std"]).reset_index(), target="y"),
        lambda: Experiment([{("a", "b"): 1}, {("a", "b"): 2}]),
        lambda: experiment((0, 5), data=[{"a": 1, "outcome": 1.0}]).predict(TWO_ROWS),
    ],
)
def test_two_header_rows(call: Callable[[], Any]) -> None:
    refused(call, "expected one row of column names", "droplevel(0, axis=1)", "'_'.join")


NUMBERED = pd.DataFrame(np.eye(6) + np.arange(6))


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_table(NUMBERED, target=5),
        lambda: from_table(NUMBERED, target=np.int64(5), ignore=[0], categorical=np.array([1])),
        lambda: from_table(NUMBERED.rename(columns=float), target=5.0),
        lambda: from_table(NUMBERED[[0, 1]].set_axis([True, False], axis=1), target=False),
        lambda: from_table(NUMBERED[[0, 1]].set_axis(pd.date_range("2024", periods=2), axis=1), pd.Timestamp("2024")),
        lambda: Experiment(NUMBERED, "Random", outcome=5),
        lambda: Experiment(NUMBERED + 1, "Random", log=[0]),
        lambda: Experiment({0: (0, 9)}, "Random").tell({0: 2.0}, 1.0),
        lambda: from_table(TABLE, "y", ignore=pd.Index(["b"]), noise_std=np.float64(0.1), replicates="average"),
        lambda: from_table(TABLE, "y", categorical=pd.Series(["a"]), ignore=np.array([])),
    ],
)
def test_labels_and_lists_of_numpy_and_pandas(call: Callable[[], Any]) -> None:
    call()


EXTENSIONS = [
    pd.array([1, 2, 3], dtype="Int64"),
    pd.array(["u", "v", "w"], dtype="string"),
    pd.Categorical(["u", "v", "w"]),
    pd.Series([1.5, 2, 3], index=[4, 4, 4]),
    pd.Index(["u", "v", "w"]),
]


@pytest.mark.parametrize("levels", EXTENSIONS, ids=lambda levels: str(levels.dtype))
def test_levels_are_what_pandas_holds(levels: Any) -> None:
    """Among them what `unique` of a column returns."""
    assert [point["a"] for point in experiment(levels, seed=1).ask(3)] == [
        point["a"] for point in experiment(list(levels), seed=1).ask(3)
    ]
    refused(lambda: experiment(levels[[0, 0]] if not isinstance(levels, pd.Series) else [1, 1]), "different values")


def test_an_index_with_a_name_is_left_out_aloud() -> None:
    grouped = TABLE.assign(c=[1.0, 2, 3, 4]).set_index("b")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("table", lambda: from_table(grouped, "y", replicates="average")),
        ("parameters", lambda: Experiment(grouped, "Random")),
        ("data", lambda: Experiment({"a": (0, 5)}, "Random", data=grouped[["a", "y"]][:3], outcome="y")),
    ]
    for argument, call in calls:
        with pytest.warns(UserWarning, match=f"{argument}: the index, b, is no column and left out; frame.reset_in"):
            call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: from_table(TABLE.assign(b=pd.interval_range(0, 4)), "y"),
            "column 'b' should hold numbers or text, got Interval(0, 1, closed='right') in rows 1, 2, 3, 4 (counted",
        ),
        (lambda: from_table(TABLE.assign(b=pd.date_range("2024", periods=4)), "y"), "; of dates give days"),
        (lambda: from_table(TABLE.assign(b=pd.array([1, 2, None, 3], "Int64")), "y"), "no finite value in row 3"),
        (lambda: run(ENV, "Random", seed=2.5), "seed: expected an integer >= 0, got 2.5"),
        (lambda: run(ENV, "Random", seed=np.random.SeedSequence(1)), "0, got SeedSequence( entropy=1, )"),
        (lambda: run(ENV, "Random", seed=True), "seed: expected an integer >= 0, got True"),
        (lambda: from_table(TABLE, "y", ignore=0), "ignore: expected a list of columns, got 0; write [0]"),
        (lambda: from_table(TABLE, "y", ignore=np.array("a")), "ignore: expected a list of columns, got array('a'"),
        (lambda: from_table(TABLE, "y", categorical=None), "categorical: expected a list of columns, got None"),
        (lambda: from_table(TABLE, "y", categorical=[["a"]]), "categorical: expected the name of a column, got ['a']"),
        (lambda: from_table(TABLE, None), "target: expected the name of a column, got None"),
        (lambda: from_table(TABLE, "y", noise_std=np.array([0.1])), "noise_std: expected a finite number >= 0, got"),
        (lambda: from_function(total, [(0, 1)], noise_std=np.array([0.1])), "noise_std: expected a finite number >= 0"),
        (lambda: from_table(pd.DataFrame({"a": [1, BIG], "y": [1, 2]}), "y"), "column 'a' should hold finite numbers"),
        (lambda: log(1, BIG), "high: expected a finite number > 0"),
        (lambda: log("1", 2), "low: expected a finite number > 0 on a logarithmic scale, got '1'"),
        (lambda: experiment([1, BIG]), "a: expected finite numbers"),
        (lambda: experiment((0, BIG)), "a: expected numbers up to 1e+50"),
        (lambda: experiment(range(BIG)), "a: expected numbers up to 1e+50"),
        (lambda: experiment((0, 1)).tell({"a": 0.5}, BIG), "outcome: expected a finite number, got 1000"),
        (lambda: experiment((0, 1)).tell({"a": BIG}, 1.0), "a: expected a number from 0.0 to 1.0, got 1000"),
        (lambda: experiment([1, 2]).tell({"a": BIG}, 1.0), "a: expected one of 1, 2, got 1000"),
        (lambda: Experiment([{"a": 1}, {"a": 2}]).tell({"a": BIG}, 1.0), "a: expected one of 1, 2, got 1000"),
        (lambda: agents.constraint(f"a <= {BIG}"), "expected a linear one"),
        (lambda: agents.constraint({"a": BIG}, "<=", 1), "constraint: expected finite coefficients, got 1000"),
        (lambda: agents.constraint({"a": 1}, "<=", BIG), "a finite number"),
        (lambda: from_function(total, [range(BIG)]), "bounds[0]: expected a pair (low, high)"),
        (
            lambda: from_function(total, {(0, 1), (0, 2)}),
            "bounds: expected a pair (low, high) for each coordinate, got {",
        ),
        (lambda: from_function(lambda x: pd.Series(x), [(0, 1)]), "f: expected a number at [0.5], got 0 0.5 dtype"),
        (lambda: from_function(lambda _: "1", [(0, 1)]), "f: expected a number at [0.5], got '1'"),
        (lambda: from_function(lambda _: BIG, [(0, 1)]), "f: expected a number at [0.5], got 1000"),
        (lambda: as_kernel({"name": {}}), '"name" to be one of se, matern'),
        (lambda: as_kernel({"name": ["se"], "variance": 2.0}), '"name" to be one of se, matern'),
        (lambda: as_kernel({"name": "sum", "kernels": 3}), "kernels: expected a list, got 3"),
        (lambda: as_kernel({"name": "active_dims", "kernel": {"name": "se"}, "dims": None}), "dims: expected a list"),
        (lambda: as_kernel({"name": "se", 1: 2, ("a",): 3}), "kernel 'se': unknown parameter"),
        (lambda: as_kernel({"name": BIG}), '"name" to be one of'),
        (lambda: Experiment({"caf\udce9": (0, 1)}), "parameters: expected text that can be written as UTF-8, got 'caf"),
        (lambda: Experiment({" ": (0, 1)}), "parameters: expected a name, got ' '"),
        (lambda: experiment(["caf\udce9", "b"]), "a: value: expected text that can be written as UTF-8"),
        (lambda: experiment((0, 1), outcome="\udce9"), "outcome: expected text that can be written as UTF-8"),
        (lambda: from_function(total, {"\udce9": (0, 1)}), "expected text that can be written as UTF-8"),
        (lambda: experiment((0, 1), seed=2**64), "seed: expected an integer from 0 to 18,446,744,073,709,551,615"),
    ],
)
def test_what_is_no_such_thing(call: Callable[[], Any], said: str) -> None:
    refused(call, said)


def test_numbers_of_400_digits_in_a_saved_file(tmp_path: Path) -> None:
    lab = experiment((0, 1))
    lab.ask()
    text = lab.save(tmp_path / "lab.json").read_text()
    number = json.dumps(next(iter(json.loads(text)["events"][0]["ask"][0].values())))
    for old in (f'"a": {number}', '"seed": 0', '"schema": 3', '"prior_mean": 0.0'):
        assert old in text
        (tmp_path / "big.json").write_text(text.replace(old, f"{old.partition(':')[0]}: {BIG}"))
        refused(lambda: Experiment.load(tmp_path / "big.json"), "expected", "1000")


@pytest.mark.parametrize("seed", [20241128, 2**32, np.uint64(2**64 - 1), 7.0])
def test_seeds_are_dates_and_hashes(seed: Any, tmp_path: Path) -> None:
    lab = experiment((0, 1), seed=seed)
    points = lab.ask(3)
    assert Experiment.load(lab.save(tmp_path / "lab.json")).ask() == lab.ask()
    assert experiment((0, 1), seed=1).ask(3) != points
    assert run(ENV, "Random", horizon=1, seed=seed).spec.seed == int(seed)


@pytest.mark.parametrize(
    ("bounds", "values"),
    [
        ([agents.log(1e-6, 1)], [1e-3]),
        ([range(1, 6)], [3]),
        ({"rate": agents.log(1, 100), "n": range(1, 4)}, [10, 2]),
        ([(0, 1), range(0, 10**9 + 1)], [0.5, 500_000_000]),
    ],
)
def test_bounds_of_a_function_are_those_of_an_experiment(bounds: Any, values: list[float]) -> None:
    env = from_function(lambda x: -total(np.abs(np.log(x / np.array(values)))), bounds)
    env.reset(seed=0)
    mean = env.step(np.full(env.action_space.shape, 0.5))[4]["oracle"]["mean"]
    assert mean == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [[[0.1, 0.2, 0.5]], [["u", "v"]], [range(0, 11, 5)], [range(3, 3)], [("0", "1")], [(0, 1), None], [(0, True)]],
)
def test_other_bounds_say_what_does(bounds: Any) -> None:
    refused(lambda: from_function(total, bounds), "range(low, high + 1)", "agents.log(low, high)", "let f look them up")
    refused(lambda: from_function(total, agents.log(1, 2)), "write [...] around it")


@pytest.mark.parametrize("grid", [None, 5])
def test_a_function_that_is_undefined_somewhere_has_failed_evaluations_by_choice(grid: int | None) -> None:
    def f(x: np.ndarray) -> float:
        return np.nan if x[0] > 0.6 else float(x[0])

    def at(place: float) -> Any:
        return np.array([place]) if grid is None else round(4 * place)

    env = from_function(f, [(0, 1)], grid=grid, failed_as=-1.0)
    env.reset(seed=0)
    failed = env.step(at(0.75))
    assert failed[4]["failed"] is True
    assert failed[4]["oracle"]["mean"] == -1
    assert "failed" not in env.step(at(0.25))[4]
    ours = gym.make_vec(env.spec.id, 2)
    ours.reset(seed=0)
    info = ours.step(np.array([at(0.25), at(1.0)]))[4]
    assert info["failed"].tolist() == info["_failed"].tolist() == [False, True]
    assert "failed" not in ours.step(np.array([at(0.0), at(0.25)]))[4]
    record = leaderboards.run(env.spec.id, "Random", horizon=12)
    assert record.status == "done"
    assert record.trace["reward"].isna().any()
    assert not record.trace["mean"].isna().any()
    for bounds in ([(0.5, 1)], [(0, 1)]):  # at the middle, and elsewhere
        refused(partial(from_function, f, bounds, grid=grid), "expected a finite number at", "failed_as=")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("x;y\n1,5;2\n2,5;3\n", "sep=';', decimal=','"),
        ("x;y;z\n1.5;2;1\n2.5;3;2\n", "sep=';')"),
        ("T;yield, %\n1,5;2\n2,5;3\n", "sep=';', decimal=','"),
        ("sep=;\nx;y\n1;2\n2;3\n", "sep=';', skiprows=1"),
        ("x\ty\n1\t2\n2\t3\n", r"sep='\t'"),
        ("x|y\n1|2\n2|3\n", "sep='|'"),
        ("x y\n1 2\n2 3\n", "sep=' '"),
        ("x   y\n1   2\n10  3\n", "sep=' +'"),
        ("x;y\n1;2\n2;\n", "sep=';')"),
        ("sep=,\nx,y\n1,2\n", "sep=',', skiprows=1"),
    ],
)
def test_files_with_other_marks_than_commas(text: str, advice: str) -> None:
    refused(lambda: read_csv(text.encode(), "x.csv"), "expected columns separated by commas", advice)
    given = advice.split("sep=")[1].split("'")[1].replace(r"\t", "\t")
    frame = pd.read_csv(
        io.StringIO(text.partition("\n")[2] if text.startswith("sep=") else text),
        sep=given,
        decimal="," if "decimal" in advice else ".",
        engine="python",
    )
    assert frame.shape == (2 - text.startswith("sep=,"), 2 + text.startswith("x;y;z"))
    assert all(kind.kind in "if" for kind in frame.dtypes)


def test_commas_may_stand_beside_such_marks() -> None:
    text = "ligand; base,y\nA; B,1\nC,2\n"
    assert read_csv(text.encode(), "x.csv").columns.tolist() == ["ligand; base", "y"]
    for encoding in ("utf-16", "utf-16-le", "latin-1"):
        refused(lambda: read_csv("x,y\n1,é\n".encode(encoding), "x.csv"), "save it as UTF-8")  # noqa: B023
    refused(lambda: read_csv(b"x;y\n1;2\n2\n", "x.csv"), "sep=';'")


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (np.arange(0.8, 1, 0.05), [0.8, 0.85, 0.9, 0.95]),
        (np.arange(-0.3, 0.31, 0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        ([0.1 + 0.2, 1.1 * 3], [0.3, 3.3]),
        ([1 / 3, 2 / 3, np.pi], [1 / 3, 2 / 3, np.pi]),
        ([1e-17, 1.0], [1e-17, 1.0]),
        (np.array([0.1, 0.7], np.float32), [0.1, 0.7]),
        ([12345678.0123456, 12345679.5], [12345678.0123456, 12345679.5]),
    ],
)
def test_levels_have_no_digits_of_sums(levels: Any, shown: list[float], tmp_path: Path) -> None:
    lab = experiment(levels)
    points = lab.ask(len(shown))
    assert sorted(point["a"] for point in points) == shown
    lab.tell({"a": levels[1]}, 1.0)
    assert Experiment.load(lab.save(tmp_path / "lab.json")).open == lab.open


@pytest.mark.parametrize(
    ("name", "hint"),
    [("my suite", "'my-suite' would do"), ("ä/ö", "'a-o' would do"), ("", "got ''"), ("x" * 300, ""), ("a.b", "'a-b'")],
)
def test_names_of_suites_say_what_would_do(name: str, hint: str) -> None:
    suite = {**SUITE, "name": name, "environments": [ENV]}
    with pytest.raises(SuiteError, match=r"key 'name': expected at most 100 letters of English, digits") as caught:
        as_suite(suite)
    assert hint in str(caught.value)


def test_suites_with_a_byte_order_mark_and_in_other_encodings(tmp_path: Path) -> None:
    text = f'name = "b"\nhorizon = 3\nrepetitions = 1\nagents = ["Random"]\nenvironments = ["{ENV}"]\n'
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8-sig")
    assert load_suite(str(path)).name == "b"
    path.write_text(text, encoding="utf-16")
    with pytest.raises(SuiteError, match=r"expected UTF-8 text, got other bytes .*; save it as UTF-8"):
        load_suite(str(path))


def test_environments_are_labelled_by_a_mapping() -> None:
    envs = {
        "easy": ENV,
        "hard": (ENV, {"dim": 2}),
        "long": {"id": ENV, "horizon": 9, "label": "x"},
        "made": gym.make(ENV),
    }
    envs["own"] = from_table(TABLE, "y", replicates="average", name="mine")
    found = as_suite({**SUITE, "environments": envs}).environments
    assert [entry.label for entry in found] == list(envs)
    assert (found[1].kwargs["dim"], found[2].horizon) == (2, 9)
    with pytest.raises(SuiteError, match="environments': expected at least one entry"):
        as_suite({**SUITE, "environments": {}})
    with pytest.raises(TypeError, match=r"environments: expected a list, got .*write \[...\] around it"):
        as_suite({**SUITE, "environments": {"id": ENV}})


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("GP-UCB (ν=2.5)", r"GP-UCB ($\nu$=2.5)"),
        ("Λ λ ς ο Ω", r"$\Lambda$ $\lambda$ $\varsigma$ o $\Omega$"),
        ("Α Η Ρ Χ", r"$\mathrm{A}$ $\mathrm{H}$ $\mathrm{P}$ $\mathrm{X}$"),
        ("σ₁ ≤ 10⁻³", r"$\sigma$\textsubscript{1} $\le$ 10\textsuperscript{−}³"),
        ("10⁵ → ∞", r"10\textsuperscript{5} $\to$ $\infty$"),
        ("Müller, 5 µm ± 2 °C", "Müller, 5 µm ± 2 °C"),
    ],
)
def test_names_in_tables_compile(text: str, latex: str) -> None:
    assert escape_latex(text) == latex


def test_weighed_amounts_may_miss_a_sum_by_a_thousandth() -> None:
    settings = dict.fromkeys("abc", (0, 100))
    lab = Experiment(settings, "Random", constraints=[agents.mixture(*"abc", total=100), "a + 2 * b <= 120"])
    lab.tell(dict.fromkeys("abc", 33.33), 1.0)
    lab.tell({"a": 20.0, "b": 50.05, "c": 30.0}, 1.0)
    refused(lambda: lab.tell({"a": 33.0, "b": 33.0, "c": 33.8}, 1.0), "expected it under 'a + b + c == 100', got 99.8")
    assert all(sum(point.values()) == pytest.approx(100, abs=1e-9) for point in lab.ask(5))


def test_outcomes_may_come_one_by_one(tmp_path: Path) -> None:
    goals = {"yield": "max", "cost": "min"}
    lab = Experiment({"a": (0, 1)}, outcome=goals)
    point = lab.ask()
    lab.tell(point, {"yield": 50.0})
    assert lab.open == [point]
    assert lab.results()[["yield", "status"]].iloc[0].tolist() == [50.0, "open"]
    again = Experiment.load(lab.save(tmp_path / "lab.json"))
    for each in (lab, again):
        each.tell(point, {"cost": 3.0})
        assert each.open == []
        assert each.results()[["yield", "cost", "status"]].iloc[0].tolist() == [50.0, 3.0, "done"]
        each.tell({"a": 0.25}, {"cost": 1.0})  # that was not asked
        assert each.open == [{"a": 0.25}]
        each.tell({"a": 0.25}, {"cost": 2.0, "yield": 1.0}, correct=True)
        assert each.results()["cost"].tolist() == [3.0, 2.0]
        assert each.ask()
    refused(lambda: lab.tell({"a": 0.5}, {}), "outcome: expected a number for each of yield, cost, missing yield, cost")


@pytest.mark.parametrize(
    "name", [" x", "x ", "\u03b1, %", "a=b; c", "\U0001f600", "\u05d0\u05d1", "\u202eabc", "1.5", "nan"]
)
def test_names_of_any_characters_survive_a_plate(name: str, tmp_path: Path) -> None:
    lab = Experiment({name: (0, 1), "base": ["u", "v"]}, "Random")
    path = lab.ask(2).to_csv(tmp_path / "plate.csv")
    pd.read_csv(path).assign(outcome=[1.0, 2.0]).rename(columns={"outcome": "outcome "}).to_csv(path, index=False)
    lab.tell(path)
    assert lab.results()[[name, "outcome"]].notna().all(axis=None)
    assert Experiment.load(lab.save(tmp_path / "lab.json")).ask() == lab.ask()


def test_a_file_is_saved_where_a_link_leads_and_on_no_device(tmp_path: Path) -> None:
    lab = experiment((0, 1))
    lab.save(tmp_path / "lab.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "lab.json")
    lab.ask()
    assert lab.save(tmp_path / "link.json").is_symlink()
    assert Experiment.load(tmp_path / "lab.json").open == lab.open
    os.mkfifo(tmp_path / "pipe.json")
    refused(lambda: lab.save(tmp_path / "pipe.json"), "path: expected a file, got the device")


def test_results_whose_folder_was_moved_are_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = {**SUITE, "environments": [ENV]}
    monkeypatch.chdir(tmp_path)
    results = leaderboards.run_suite(suite, out="here", progress=False)
    Path("here").rename("there")
    for call in (results.ranking, results.scores, results.runs, results.page):
        with pytest.raises(
            FileNotFoundError, match="here: the results folder was there and is no more, as it was moved"
        ):
            call()
    assert len(leaderboards.Results("there").runs()) == 1
