"""`Experiment.rehearse`: what further plates may bring, on functions that the model draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agents import Experiment
from agents.experiment import rehearsal

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame({"a": RNG.random(60).round(3), "b": RNG.random(60).round(3), "s": RNG.choice(list("uvw"), 60)})
WORTH = 10 * np.sin(5 * TABLE["a"]) * TABLE["b"] + (TABLE["s"] == "v")


def told(plates: int = 3, sign: float = 1.0, **settings: Any) -> Experiment:
    """After plates of 4 on the table; rows by place."""
    lab, noise = Experiment(TABLE, outcome="yield", **settings), np.random.default_rng(1)
    for _ in range(plates):
        for point in lab.ask(4):
            lab.tell(point, sign * (worth(point) + 0.2 * noise.standard_normal()))
    return lab


def worth(point: Any) -> float:
    return float(WORTH[TABLE.to_dict("records").index(point)])


def test_functions_are_drawn_of_what_the_outlook_says() -> None:
    lab = told()
    drawn = rehearsal.functions(lab, np.random.default_rng(0))
    Y = np.array([next(drawn)[0] for _ in range(3_600)])
    mean, low, high = lab._beliefs().band(0, 0.8, lab.candidates.arms)  # type: ignore[union-attr]
    assert np.allclose(Y.mean(axis=0), mean, atol=0.1 * (high - low).max())
    found = np.quantile(Y, [0.1, 0.9], axis=0)
    assert np.abs(found - [low, high]).max() < 0.12 * (high - low).max()


def test_a_gap_is_what_the_campaign_would_have_left_under_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def functions(lab: Experiment, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        while True:
            yield WORTH.to_numpy(), 0.0

    monkeypatch.setattr(rehearsal, "functions", functions)
    lab, expected, count = told(), [], []
    asked = lab.ask(3)  # open: the first plate
    before = lab.results()
    found = lab.rehearse(3, 5, rehearsals=10, done=lambda: count.append(1))
    assert lab.results().equals(before)
    assert len(count) == 10
    for plate in range(3):
        for point in lab.ask(5) if plate else asked:
            lab.tell(point, worth(point))
        expected.append(WORTH.max() - worth(lab.recommend()))
    assert found.n == (15, 20, 25)
    assert np.allclose(found.gaps, [expected] * 10)


def test_what_is_small_is_rehearsed_as_what_is_large_turned_over(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = rehearsal.functions
    monkeypatch.setattr(rehearsal, "functions", lambda *given: ((y, 0.0) for y, _ in drawn(*given)))
    gaps = told().rehearse(2, 4, rehearsals=10).gaps
    assert np.allclose(told(sign=-1.0, minimise=True).rehearse(2, 4, rehearsals=10).gaps, gaps)
    assert gaps.min() >= 0 < gaps.max()


def test_what_has_failed_is_no_better_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    best: Any = TABLE.iloc[int(WORTH.argmax())].to_dict()
    lab = told(plates=2)
    lab.tell(best, failed=True)
    monkeypatch.setattr(rehearsal, "functions", lambda *_: iter([(WORTH.to_numpy(), 0.0)] * 10))
    gaps = lab.rehearse(1, 4, rehearsals=10).gaps
    second = WORTH.drop(int(WORTH.argmax())).max()
    assert gaps.max() <= second - min(worth(point) for point, _ in [lab.best()])


def test_ranges_are_rehearsed_among_random_points() -> None:
    lab, noise = Experiment({"a": (0, 1), "b": range(1, 9), "s": ["u", "v"]}, minimise=True), np.random.default_rng(0)
    for point in lab.ask(12):
        lab.tell(point, (point["a"] - 0.3) ** 2 * point["b"] + 0.01 * noise.standard_normal(), sd=0.01)
    found = lab.rehearse(2, 4, within=1e9, rehearsals=10)
    assert found.n == (16, 20)
    assert (found.gaps >= 0).all()
    assert found.needed == 16
    assert len(lab.results()) == 12


@pytest.mark.parametrize(
    ("within", "said"),
    [
        (None, []),
        (0.4, ["After 40 that is within 0.4 in 36%, not in 8 of 10."]),
        (1.0, ["After 40 that is within 1 in 8 of 10."]),
        (5.0, ["After 32 that is within 5 in 8 of 10."]),
    ],
)
def test_what_is_printed(within: float | None, said: list[str]) -> None:
    gaps = np.tile(np.linspace(0, 3, 11)[:, None], (1, 2)) * [1.0, 0.4]
    assert str(rehearsal.Rehearsal((32, 40), gaps, within)).splitlines()[:-1] == [
        "In 11 rehearsals something is still better than the recommended point,",
        "after 32 experiments by 1.5, between 0.3 and 2.7 (80%).",
        "after 40 experiments by 0.6, between 0.1 and 1.1 (80%).",
        *said,
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"plates": 0}, "plates: expected an integer >= 1, got 0"),
        ({"rehearsals": 9}, "rehearsals: expected an integer >= 10, got 9"),
        ({"within": -1.0}, "within: expected a finite number > 0, got -1.0"),
        ({"plates": 13}, "plates: expected at most 12 of 4, of 48 candidates left, got 13"),
    ],
)
def test_wrong_arguments_are_named(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        told().rehearse(**{"plates": 1, "n": 4} | words)


@pytest.mark.parametrize("outcome", [{"y": "max", "z": "min"}, {"y": ("max", ">= 3")}, {"y": "target 2"}])
def test_one_outcome_is_rehearsed(outcome: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rehearse: expected a single outcome to be large or small, without a limit"):
        Experiment(TABLE, outcome=outcome).rehearse(1, 4)
