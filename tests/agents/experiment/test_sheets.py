"""Plates as tables that are filled in, and campaigns of them with every policy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import agents
from agents import Experiment
from tests.contracts.test_agents import VARIANTS, make

QUICK = ("MAP-BUCB", {"candidates": 64, "starts": 2, "iterations": 10, "n_initial": 4, "fits": 1})
RANGES: dict[str, Any] = {"a": (0, 100), "b": (0, 100), "c": (0, 100), "base": ["KOAc", "1.10"], "n": range(20)}
GOALS = {"yield": "max", "cost": "<= 40"}
Suffix = pytest.mark.parametrize("suffix", ["csv", "xlsx"])


def started(**settings: Any) -> Experiment:
    return Experiment(RANGES, QUICK, outcome=GOALS, constraints=[agents.mixture("a", "b", "c", total=100)], **settings)


def written(frame: pd.DataFrame, path: Path) -> Path:
    (frame.to_csv if path.suffix == ".csv" else frame.to_excel)(path, index=False)
    return path


@Suffix
def test_a_plate_is_filled_in_bit_by_bit(suffix: str, tmp_path: Path) -> None:
    lab, path = started(), tmp_path / f"week1.{suffix}"
    plate = lab.ask(4)
    assert isinstance(plate, list)
    assert plate == json.loads(json.dumps(plate)) == lab.open
    assert (plate.to_csv if suffix == "csv" else plate.to_excel)(path) == path
    read: Callable[..., pd.DataFrame] = pd.read_csv if suffix == "csv" else pd.read_excel
    frame = read(path, dtype={"base": str}).astype(dict.fromkeys(["yield", "cost", "status"], object))
    assert list(frame) == [*RANGES, "yield", "cost", "status"]
    assert frame["status"].tolist() == ["open"] * 4
    frame["remark"] = ["12", "ok", None, "5 mg"]
    frame.loc[0, ["yield", "cost"]] = 50, 30
    frame.loc[1, "yield"] = 60
    frame.loc[2, "status"] = "failed"
    for _ in range(2):  # what was told is no news
        with pytest.warns(UserWarning, match=f"week1.{suffix}: 'remark' left out, no parameter and no outcome"):
            lab.tell(written(frame, path))
        assert lab.results()["status"].tolist() == ["done", "open", "failed", "open"]
        assert lab.results()["yield"].tolist()[:2] == [50, 60]
        assert len(lab._history.events) == 4
    frame = frame.drop(columns="remark")
    frame.loc[1, "cost"], frame.loc[3, ["yield", "cost"]] = 41, (1, 2)
    frame.loc[3, ["a", "b"]] += [0.03, -0.03]  # as it was weighed
    lab.tell(str(written(frame, path)))
    assert lab.results()["status"].tolist() == ["done", "done", "failed", "done"]
    assert lab.results()["a"][3] == pytest.approx(plate[3]["a"] + 0.03)
    lab.tell(written(frame, path))
    assert len(lab._history.events) == 6
    again = Experiment.load(lab.save(tmp_path / "lab.json"))
    assert json.loads((tmp_path / "lab.json").read_text())["schema"] == 3
    assert again.results().equals(lab.results())
    assert again.ask(3) == lab.ask(3)


def test_a_wrong_row_tells_nothing(tmp_path: Path) -> None:
    lab = started()
    frame = lab.ask(3).to_frame()
    frame["yield"], frame["cost"] = 1.0, pd.Series([1.0, "?", 3.0], dtype=object)
    (tmp_path / "week.xlsx").write_text("no workbook")
    for wrong, message in (
        (frame, "point, row 1 (counted from 0): cost: expected a finite number, got '?'; an evaluation without"),
        (
            written(frame, tmp_path / "week.csv"),
            "week.csv, row 1 (counted from 0): cost: expected a finite number, got '?'",
        ),
        (frame.assign(cost=1.0, n=[1, np.nan, 2]), "point, row 1 (counted from 0): n: expected a value, got none"),
        (frame.assign(cost=1.0, status="broke"), "row 0 (counted from 0): status: expected 'failed' where"),
        (frame.assign(cost=1.0, status="failed"), "status: expected an outcome or 'failed', got 'failed' beside"),
        (frame.drop(columns="n"), "point: expected the columns a, b, c, base, n, yield, cost, got none named n among"),
        (frame.drop(columns=["yield", "cost"]), "got none with an outcome among a, b, c, base, n, status"),
        (frame.rename(columns={"cost": "Cost"}), "outcome: expected the name of a column, got 'cost'; did you mean"),
        (pd.concat([frame[:1]] * 2), "row 1 (counted from 0): expected another point than that of row 0, got {'a':"),
        (tmp_path / "week.xlsx", "week.xlsx' to be a file of Excel, got another kind (File is not a zip file)"),
        (tmp_path / "week.ods", "point: expected a dict, or a .csv or .xlsx file"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            lab.tell(wrong)
    with pytest.raises(ValueError, match="outcome, failed, sd: expected none beside a table"):
        lab.tell(frame, 3.0)
    with pytest.raises(TypeError, match="point: expected a dict with a, b, c, base, n, a DataFrame or the path"):
        lab.tell(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        lab.tell(tmp_path / "none.xlsx")
    assert len(lab.open) == 3


def test_no_file_with_outcomes_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plate = started().ask(2)
    plate.to_csv(tmp_path / "week.csv")
    with pytest.raises(FileExistsError, match=r"in which outcomes may be; overwrite=True replaces it"):
        plate.to_csv(tmp_path / "week.csv")
    plate.to_csv(tmp_path / "week.csv", overwrite=True)
    for write, suffix in ((plate.to_excel, "xlsx"), (plate.to_csv, "csv")):
        with pytest.raises(ValueError, match=rf"path: expected a name that ends with .{suffix}, got"):
            write(tmp_path / "week.xls")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for call in (lambda: plate.to_excel(tmp_path / "week.xlsx"), lambda: started().tell(tmp_path / "week.xlsx")):
        with pytest.raises(ImportError, match=r'need openpyxl: pip install "gpbandit-envs\[excel\]"'):
            call()


@pytest.mark.parametrize("parts", [(33.33, 33.33, 33.33), (33.4, 33.35, 33.34)])
def test_what_was_weighed_sums_to_the_total_within_a_thousandth(parts: tuple[float, ...]) -> None:
    lab = started()
    lab.tell({**dict(zip("abc", parts, strict=True)), "base": "KOAc", "n": 1}, {"yield": 1, "cost": 2})
    with pytest.raises(ValueError, match=r"expected it under 'a \+ b \+ c == 100', got 99.8"):
        lab.tell({"a": 33.3, "b": 33.3, "c": 33.2, "base": "KOAc", "n": 1}, {"yield": 1, "cost": 2})
    lab.ask(3)


def test_a_point_of_another_level_or_near_two_open_ones_is_another() -> None:
    lab = Experiment({"x": (0, 1), "n": range(2000)}, "Random", seed=3)
    point = lab.ask()
    lab.tell({"x": point["x"] + 5e-4 * (1 if point["x"] < 0.5 else -1), "n": (point["n"] + 1) % 2000}, 1.0)
    assert lab.open == [point]
    lab.tell({**point, "x": point["x"] + 2e-3 * (1 if point["x"] < 0.5 else -1)}, 1.0)
    assert lab.open == [point]
    table = Experiment(pd.DataFrame({"x": [0, 0.0005, 1]}), "Random")
    table.ask(3)
    table.tell({"x": 0.0005}, 1.0)
    assert table.open == [each for each in table.open if each["x"] != 0.0005]


class TestCorrections:
    def test_the_policy_learns_what_is_right(self, tmp_path: Path) -> None:
        right, lab = (Experiment({"x": (0, 1)}, QUICK) for _ in range(2))
        for i, x in enumerate(np.linspace(0, 1, 6).tolist()):
            right.tell({"x": x}, x)
            lab.tell({"x": x}, x if i else 70.0)
        lab.ask()
        with pytest.raises(ValueError, match=r"already \(outcome 70\); correct=True replaces it, repeats=True allows"):
            lab.tell({"x": 0.0}, 0.0)
        lab.tell({"x": 0.0}, 0.0, correct=True)
        assert lab.predict({"x": 0.5})["mean"][0] == pytest.approx(right.predict({"x": 0.5})["mean"][0], abs=0.05)
        assert lab.best() == ({"x": 1.0}, 1.0)
        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert again.ask() == lab.ask()
        lab.tell({"x": 1.0}, failed=True, correct=True)
        assert lab.results()["status"].tolist().count("failed") == 1
        lab.tell({"x": 1.0}, 2.0, correct=True)
        assert lab.best() == ({"x": 1.0}, 2.0)

    def test_one_of_several_outcomes(self) -> None:
        lab = started()
        point = lab.ask()
        lab.tell(point, {"yield": 3})
        lab.tell(point, {"yield": 3})
        with pytest.raises(ValueError, match=r"told already \(yield 3\); correct=True replaces it"):
            lab.tell(point, {"yield": 4})
        lab.tell(point, {"yield": 4}, correct=True)
        assert lab.open == [point]
        lab.tell(point, {"cost": 9})
        lab.tell(point, {"cost": 8}, correct=True)
        assert lab.results()[["yield", "cost"]].to_numpy().tolist() == [[4, 8]]
        frame = pd.DataFrame([{**point, "yield": 5, "cost": 8}])
        with pytest.raises(ValueError, match=r"row 0 .*told already"):
            lab.tell(frame)
        lab.tell(frame, correct=True)
        assert lab.results()["yield"].tolist() == [5]

    def test_what_was_not_told_once_is_refused(self) -> None:
        data = [{"x": 0.25, "outcome": 1.0}]
        lab = Experiment({"x": (0, 1)}, "Random", repeats=True, data=data)
        for _ in range(2):
            lab.tell({"x": 0.5}, 1.0)
        for x, message in ((0.75, "told not at all"), (0.5, "told in rows 1, 2 of"), (0.25, "in row 0 of the data")):
            with pytest.raises(ValueError, match=message):
                lab.tell({"x": x}, 2.0, correct=True)
        with pytest.raises(TypeError, match="correct: expected True or False"):
            lab.tell({"x": 0.5}, 2.0, correct="yes")  # type: ignore[arg-type]


class TestStandardErrors:
    def test_they_take_the_place_of_the_learnt_noise(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        x, sd = rng.random(20), np.where(np.arange(20) % 2, 0.05, 2.0)
        data = pd.DataFrame({"x": x, "y": 3 * x + sd * rng.standard_normal(20), "error": sd})
        lab = Experiment({"x": (0, 1)}, QUICK, outcome="y", data=data, sd="error")
        blind = Experiment({"x": (0, 1)}, QUICK, outcome="y", data=data.drop(columns="error"))
        at = pd.DataFrame({"x": np.linspace(0, 1, 11)})

        def error(lab: Experiment) -> float:
            return float((lab.predict(at)["mean"] - 3 * at["x"]).abs().max())

        assert error(lab) < 0.15 < error(blind)
        assert lab.outlook().high - lab.outlook().low < 0.3 < blind.outlook().high - blind.outlook().low
        assert lab.check().predictions["sd"].to_numpy()[sd > 1] == pytest.approx(2, abs=0.1)
        assert lab.results()["error"].tolist() == sd.tolist()
        lab.tell(lab.ask(), 2.0, sd=0.3)
        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert again.results().equals(lab.results())
        assert again.ask() == lab.ask()
        more = Experiment({"x": (0, 2)}, QUICK, outcome="y", data=lab.results(), sd="error")
        assert more.results()["error"].tolist() == [*sd, 0.3]

    def test_one_for_each_outcome_by_hand_and_by_file(self) -> None:
        lab = started()
        plate = lab.ask(3)
        lab.tell(plate[0], {"yield": 1, "cost": 2}, sd={"yield": 0.1})
        frame = plate.to_frame().astype(object)
        frame.loc[1, ["yield", "cost"]], frame["cost sd"] = [2, 3], [None, 0.5, 0.3]
        for _ in range(2):
            lab.tell(frame)
        assert lab.results()[["yield sd", "cost sd"]].fillna(0).to_numpy().tolist() == [[0.1, 0], [0, 0.5], [0, 0]]
        assert lab.results()["status"].tolist() == ["done", "done", "open"]
        lab.tell(plate[1], {"cost": 4}, correct=True)
        assert lab._history.own[1].sds == {}
        lab.ask(2)
        table = pd.DataFrame({"x": [1, 2, 3], "yield": [1.0, 2.0, None], "yield sd": [0.1, None, None]})
        assert Experiment(table, QUICK, outcome="yield").candidates.names == ["x"]  # type: ignore[union-attr]

    def test_what_is_refused(self) -> None:
        lab, point = started(), {"a": 20, "b": 30, "c": 50, "base": "KOAc", "n": 1}
        for sd, error, message in (
            (0.4, TypeError, "sd: expected a dict with a number for each of yield, cost, got 0.4"),
            ({"yield": np.nan}, ValueError, "sd of yield: expected a finite number, got nan"),
            ({"yield": 0}, ValueError, "sd: expected a number > 0, got 0.0; leave it out where it is not known"),
            ({"cost": 1}, ValueError, "sd: expected that of an outcome that is told, got 'cost'"),
            ({"Yield": 1}, ValueError, "sd: no outcome 'Yield'"),
        ):
            with pytest.raises(error, match=re.escape(message)):
                lab.tell(point, {"yield": 3}, sd=sd)
        data = [{"x": 0.5, "y": 1.0, "e": 0.1}]
        with pytest.raises(ValueError, match=r"row 1 .* has been told already \(y 1\); repeats=True allows it twice"):
            Experiment({"x": (0, 1)}, QUICK, outcome="y", data=data * 2, sd="e")
        with pytest.raises(ValueError, match="sd: expected columns of data, got 'f'"):
            Experiment({"x": (0, 1)}, QUICK, outcome="y", data=data, sd="f")
        with pytest.raises(ValueError, match="sd: 'Random' takes no standard errors; 'MAP-BUCB', the default, does"):
            Experiment({"x": (0, 1)}, "Random", outcome="y", data=data, sd="e")
        with pytest.raises(ValueError, match="sd: 'Random' takes no standard errors"):
            Experiment({"x": (0, 1)}, "Random").tell({"x": 0.5}, 1.0, sd=0.1)
        with pytest.raises(TypeError, match="sd: expected a dict of columns by outcome, got 'e'"):
            started(sd="e")
        with pytest.raises(ValueError, match="sd: expected 'yield' or 'cost', got 'x'"):
            started(sd={"x": "e"})


# ---- the script of ten plates, as its reader runs it ----


FOLDER = Path(__file__).parents[3] / "examples" / "plates"


@pytest.mark.slow
def test_ten_plates_of_eight_with_two_failures_and_a_restart_every_night(tmp_path: Path) -> None:
    script = FOLDER / "plates.py"
    assert len([line for line in script.read_text().splitlines() if line.strip()]) <= 15
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    content = json.loads((tmp_path / "lab.json").read_text())
    asked = [event["ask"] for event in content["events"] if "ask" in event]
    told = [event for event in content["events"] if "tell" in event]
    assert [len(batch) for batch in asked] == [8] * 10
    assert sum("failed" in event for event in told) == 2
    assert sum("outcome" in event for event in told) == 78
    tried = pd.DataFrame([point for batch in asked for point in batch])
    assert not tried.duplicated().any()
    assert len(content["setup"]["candidates"]["base"]) == 1_728
    # Of 1,728 yields five are above 69; the best of 80 reactions drawn at random has a median of 64.
    assert float(ended.stdout.strip().rstrip(")").split(", ")[-1]) > 68


# ---- every registered policy plays an experiment ----


PARAMETERS: dict[str, Any] = {
    "finite": pd.DataFrame(list(product("abc", [1, 2, 3, 4], [0.1, 0.2])), columns=["base", "x", "y"]),
    "box": {"x": (0, 4), "base": ["a", "b", "c"]},
}


def outcome(point: dict[str, Any]) -> float:
    return float({"a": 0.0, "b": 1.0, "c": 0.3}[point["base"]] - (point["x"] - 2.5) ** 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* does not use it")
@pytest.mark.parametrize("id", list(agents.registered()))
def test_it_plays_and_is_restored(id: str, tmp_path: Path) -> None:
    settings = VARIANTS.get(id, [{}])[0]
    capabilities = make(id, settings).capabilities
    for domain in sorted(capabilities.domains):
        lab = Experiment(
            PARAMETERS[domain], (id, settings), kernel={"name": "se", "lengthscale": 0.5}, noise_std=0.1, horizon=30
        )
        told = 0
        for turn in range(4):
            batch = [lab.ask()] if capabilities.batch == "sequential" else lab.ask(3)
            for i, point in enumerate(batch):
                if turn == 1 and i == 0:
                    lab.tell(point, failed=True)
                else:
                    lab.tell(point, outcome(point))
            told += len(batch)
        results = lab.results()
        assert len(results) == told >= 4
        assert (results["status"] == "failed").sum() == 1
        assert not results.duplicated(list(PARAMETERS[domain])).any()
        assert lab.best()[1] == results["outcome"].max()
        assert Experiment.load(lab.save(tmp_path / f"{domain}.json")).ask() == lab.ask()
