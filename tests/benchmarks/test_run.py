"""The table of ratios: written, read again, and held against what is measured."""

from __future__ import annotations

import math
import re
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import bench_optimisers, bench_policies, bench_textbook, run, textbook
from benchmarks.measure import Machine, Row, against
from benchmarks.scores import _numbers, compare
from benchmarks.walk import modules_run, walks
from gpbandit_envs.arguments import as_count
from gpbandit_envs.gp import SE
from tests.reference.posterior import dense

SLOW, FAST = Row("a case", "a book", ours=2.0, theirs=3.0), Row("a case", "a book", ours=1.0, theirs=30.0)


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "README.md"
    path.write_text(f"before\n{run.BEGIN}\n{run.END}\nafter\n")
    monkeypatch.setattr(run, "README", path)
    monkeypatch.setattr(run, "machine", lambda: Machine(flops=45e9, bandwidth=24e9))
    return path


def test_the_table_keeps_what_was_not_measured(readme: Path) -> None:
    run.write({"envs/step": SLOW, "posteriors/step-textbook": FAST})
    run.write({"envs/step": FAST})
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "45.0 GFLOP/s" in text
    assert list(run.kept()) == ["posteriors/step-textbook", "envs/step"]
    assert {name: run.ratio_of(line) for name, line in run.kept().items()} == dict.fromkeys(run.kept(), 30.0)


def test_a_regression_is_seen(readme: Path, capsys: Any) -> None:
    run.write({"envs/step": FAST})
    assert run.check({"envs/step": FAST, "envs/new": SLOW}, 0.6) == 0
    assert run.check({"envs/step": SLOW}, 0.6) == 1
    assert "envs/step: 1.5 times as fast as its reference, and was 30" in capsys.readouterr().out
    assert run.check({"envs/step": SLOW}, 0.05) == 0


def test_a_broken_promise_fails_whatever_is_kept(readme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PROMISES", {"envs/step": 2.0, "envs/new": 2.0})
    run.write({"envs/step": SLOW})
    assert run.check({"envs/step": SLOW}, 0.6) == 1
    assert run.check({"envs/new": SLOW}, 0.6) == 1
    assert run.check({"envs/new": FAST}, 0.6) == 0


def test_another_checkout_is_measured_by_its_own_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes half as long there, and the case is not known in a third."""
    for name, ours, case in (("before", 0.5, "step"), ("without", 0.5, "other")):
        folder = tmp_path / name / "benchmarks"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "run.py").write_text(
            "from dataclasses import dataclass\n\n@dataclass\nclass Row:\n    case: str\n    reference: str\n"
            "    ours: float\n    theirs: float\n\n"
            f"GROUPS = {{'envs': lambda: [({case!r}, lambda: Row('a case', 'a book', {ours}, 3.0))]}}\n"
        )
    before = run.measure_in(tmp_path / "before", "envs/step")
    assert before == Row("a case", "a book", 0.5, 3.0)
    assert run.measure_in(tmp_path / "without", "envs/step") is None
    (tmp_path / "before" / "benchmarks" / "run.py").write_text("raise ImportError('no such module')")
    assert run.measure_in(tmp_path / "before", "envs/step") is None
    assert "no such module" in capsys.readouterr().out


def test_two_checkouts_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"there": iter([3.0, 2.0, 9.0]), "here": iter([1.0, 1.0, 1.0])}

    def measure_in(checkout: Path, name: str) -> Row | None:
        if name != "envs/step":
            return None
        return Row("a case", "a book", next(rows["there" if checkout == Path("there") else "here"]), 6.0)

    monkeypatch.setattr(run, "measure_in", measure_in)
    assert run.compare(Path("there"), ["envs/step", "envs/rkhs"], rounds=3) == {"envs/step": 3.0}
    assert "| `envs/step` | 3 | 1 | 3.00 | 3.00 |" in capsys.readouterr().out


def test_the_round_of_median_ratio_counts() -> None:
    ours, theirs = iter([1.0, 1.0, 4.0]), iter([10.0, 2.0, 12.0])
    row = against("a case", "a book", lambda: next(ours), lambda: next(theirs))
    assert (row.ours, row.theirs, row.ratio) == (4.0, 12.0, 3.0)


def test_every_case_has_a_name_of_its_own_and_is_kept() -> None:
    assert set(run.POLICIES) <= set(bench_policies.CASES)
    names = run.names(None)
    assert len(names) == len(set(names))
    assert set(names) <= set(run.kept())
    assert set(run.PROMISES) <= set(names)


def test_the_textbook_is_the_dense_posterior() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 2)), rng.standard_normal(60)
    pulled = rng.integers(0, 40, 60)
    kernel, lam = SE(0.3), 0.1
    posterior = textbook.RankOne(kernel, X, lam, 60)
    for arm, reward in zip(pulled, y):
        posterior.pull(int(arm), float(reward))
    mean, variance = dense(kernel(X, X), pulled, y, lam)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-10)
    np.testing.assert_allclose(posterior.variance, variance, atol=1e-10)


def test_the_textbook_pulls_the_same_arms() -> None:
    problem, mean = bench_policies.synthetic(200, 2.0, 60)
    noise = bench_textbook.noise_of(60)
    ours, theirs = (play(problem, mean, noise)[1] for play in (bench_textbook.agent_play, bench_textbook.textbook_play))
    assert ours == theirs


@pytest.mark.parametrize("name", bench_optimisers.FUNCTIONS)
def test_regret_of_the_optimisers_is_counted_from_the_maximum(name: str) -> None:
    formula, _ = bench_optimisers.FUNCTIONS[name]
    low, high = np.array(formula.low), np.array(formula.high)
    task = bench_optimisers.Task(name)
    assert task.regret((np.array(formula.argmax) - low) / (high - low)) == pytest.approx(0.0, abs=1e-4)
    assert min(task.regret(x) for x in np.random.default_rng(0).random((200, task.dim))) > 0


def test_an_episode_of_the_optimisers_is_one_of_the_policy() -> None:
    task = bench_optimisers.Task("Branin")
    X, y, spent = bench_optimisers.play(bench_optimisers.Policy("MAP-UCB", task, 3), task, 8, 0)
    again, _, _ = bench_optimisers.play(bench_optimisers.Policy("MAP-UCB", task, 3), task, 8, 0)
    np.testing.assert_array_equal(X, again)
    assert X.shape == (8, 2)
    assert np.abs(y - [task.mean(x) for x in X]).max() < 1
    assert len(spent) == 8


def test_an_optimiser_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match="Optuna is not installed"):
        dict(bench_optimisers.cases())["map-ucb-optuna"]()


# ---- scores of two checkouts: what prints otherwise is a line, what does not is a relative difference ----


def test_what_prints_otherwise_is_named() -> None:
    ours = {"a": 1.0, "b": 2.0, "c": math.nan, "d": 5.0}
    largest, lines = compare(ours, {"a": 1.0 + 1e-9, "b": 2.01, "c": math.nan, "e": 1.0})
    assert lines == ["b: 2.0 here, 2.01 there", "d: 5.0 here, None there", "e: None here, 1.0 there"]
    assert compare({"a": 1.0}, {"a": 1.0 + 1e-9})[0] < 2e-9
    assert largest == pytest.approx(0.01 / 2.01)
    assert compare(ours, ours) == (0.0, [])


def test_a_number_is_named_by_the_text_of_its_row() -> None:
    frame = pd.DataFrame({"agent": ["A", "B"], "score": [1.0, 2.0]})
    assert _numbers("ranking", frame) == [("ranking, A, score", 1.0), ("ranking, B, score", 2.0)]


# ---- the modules of a walk are those whose functions run, whatever has been imported ----


ROOT = Path(__file__).resolve().parents[2]


def test_modules_that_run_are_noted() -> None:
    assert modules_run(lambda: as_count("n", 3)) == {"gpbandit_envs.arguments"}
    assert modules_run(lambda: sum([1, 2])) == set()


@pytest.mark.docs
def test_the_architecture_says_how_many_a_reward_passes(tmp_path: Path) -> None:
    stored, _, whole = (len(modules) for _, modules in islice(walks(tmp_path), 3))
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    told: Any = re.search(r"(\d+) until the run is stored, (\d+) until the page is written", text)
    # What a process does once, another test may have done before this one.
    assert stored == pytest.approx(int(told[1]), abs=5)
    assert whole == pytest.approx(int(told[2]), abs=5)
