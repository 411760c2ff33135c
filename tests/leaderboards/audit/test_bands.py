"""What is measured of bands and sketches, and what follows from the study of bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agents
from agents import Sketch
from agents.core.guarantees import guarantee_status
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from gpbandit_envs.problem import Knowledge, NoiseTails, Problem
from leaderboards.audit.bands import Study, read_study, study
from leaderboards.audit.measure import (
    BAND_COLUMNS,
    SKETCH_COLUMNS,
    band_violations,
    held_bytes,
    informative,
    sketch_accuracy,
)
from leaderboards.play.build import build_agent
from leaderboards.play.spec import Ref
from leaderboards.show.bands_page import bands_page


def cell(band: str, violated: int = 0, **others: Any) -> dict[str, Any]:
    given = {"task": "t", "player": "Uniform", "runs": 1000, "factor": 0.8, "informative": 0.5, "half_width": 0.2}
    return {**given, "band": band, "violated": violated, "why_not": "", **others}


def of(*cells: dict[str, Any], controls: tuple[str, ...] = ()) -> Study:
    names = dict.fromkeys(one["band"] for one in cells)
    bands = [{"label": name, "reach": "any", "control": "false" if name in controls else ""} for name in names]
    regrets = [
        {"task": "t", "rule": rule, "mean": mean, "error": 0.01}
        for rule, mean in (("Uniform", 1.0), ("GP-EI", 0.2), ("GP-UCB, A", 0.5))
    ]
    plan = {"delta": 0.1, "horizon": 100, "tasks": {"known": ["t"]}}
    return read_study({**plan, "bands": bands, "cells": list(cells), "regrets": regrets})


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "keeps its word"),
        ({"violated": 80}, "keeps its word"),
        ({"violated": 95}, "not confirmed"),
        ({"violated": 200}, "fails"),
        ({"factor": 0.4}, "not tested"),
        ({"informative": 0.01}, "says nothing"),
        ({"why_not": "no theorem"}, "holds, no theorem"),
    ],
)
def test_verdicts(given: dict[str, Any], verdict: str) -> None:
    (row,) = of(cell("A", **given)).bands
    assert row.verdict == verdict
    # One bad cell among good ones decides; what one cell tests, or one player leaves to be said, is tested, and counts.
    (row,) = of(cell("A"), cell("A", **{**given, "player": "GP-EI"})).bands
    assert row.verdict == ("keeps its word" if verdict == "not tested" else verdict)


def test_the_price_is_of_choosing_and_not_of_stating() -> None:
    cells = [cell("A", player="GP-EI", half_width=0.3), cell("A", player="GP-UCB, A", half_width=0.25), cell("B", 200)]
    found = of(*cells, controls=("B",))
    assert found.controls == (1, 1)
    assert found.sentence == (
        "A proven band costs no regret: along the pulls of GP-EI, A's keeps its word. Choosing by that band costs "
        "2.5 times the regret, and narrows it from 0.30 to 0.25 of the range"
    )
    first = found.choices["known"][0]
    assert (first.rule, first.band, first.half_width) == ("GP-EI", "A", 0.3)
    worse = of(cell("A", 200, player="GP-EI"), cell("A", player="GP-UCB, A"))
    assert worse.sentence.startswith("No band that keeps its word")


def test_what_is_kept_is_whole_and_controls_fail() -> None:
    found = study()
    assert found.controls[0] == found.controls[1] >= 4
    assert {row.band for row in found.bands if row.verdict == "keeps its word"} >= {"AMM", "DMM"}
    assert all(row.runs >= 1000 * (1 + (row.reach == "any")) for row in found.bands)
    page = bands_page(found)
    assert len(page["bands"]) == len(found.bands)
    assert all(figure.startswith("<figure") for *_, figure in page["groups"])


# ---- bands, sketched variances and bytes, on cases with known answers ----


X = np.linspace(0, 1, 40)[:, None]
LAM = 0.05
PULLED, COUNTS = np.array([3, 11, 20, 30]), np.array([1.0, 5.0, 2.0, 40.0])


class Sketched:
    """Nothing but a sketched posterior of `PULLED` on a dictionary."""

    def __init__(self, dictionary: list[int]) -> None:
        self.posterior = SketchedArmPosterior(SE(0.15), X, LAM)
        self.posterior.record(PULLED, COUNTS, np.ones(4))
        self.posterior.embed(np.array(dictionary, np.int64))

    def sketch(self) -> Sketch:
        return Sketch(self.posterior, 7)


def exact_variance() -> tuple[np.ndarray, float]:
    """Dense formula with every pull written out; variance at all arms, effective dimension."""
    arms = np.repeat(PULLED, COUNTS.astype(int))
    K = SE(0.15)(X[arms], X[arms])
    inverse = np.linalg.inv(K + LAM * np.eye(len(arms)))
    k = SE(0.15)(X[arms], X)
    return 1 - np.einsum("ij,ij->j", k, inverse @ k), float(np.trace(K @ inverse))


def test_a_dictionary_of_all_pulled_arms_is_exact() -> None:
    found = sketch_accuracy(Sketched(PULLED.tolist()).sketch(), np.arange(40))
    assert found["dictionary"] == 4
    assert found["resparsifications"] == 7
    for name in ("ratio_low", "ratio_median", "ratio_high"):
        assert found[name] == pytest.approx(1, abs=1e-6)
    assert found["d_eff"] == pytest.approx(exact_variance()[1], rel=1e-9)
    assert found["sketched_d_eff"] == pytest.approx(found["d_eff"], rel=1e-6)


def test_what_a_dictionary_leaves_out_shows_in_the_ratio() -> None:
    agent = Sketched([3])
    found = sketch_accuracy(agent.sketch(), np.arange(40))
    ratio = agent.posterior.variance / exact_variance()[0]
    assert found["ratio_high"] == pytest.approx(ratio.max(), rel=1e-6)
    assert found["ratio_low"] == pytest.approx(ratio.min(), rel=1e-6)
    assert found["ratio_median"] == pytest.approx(np.median(ratio), rel=1e-6)
    assert found["ratio_high"] > 100, "the arm pulled 40 times is unknown to the dictionary"
    assert sketch_accuracy(agent.sketch(), PULLED[:1])["ratio_high"] < 3


def test_what_has_no_sketch_has_nothing_to_tell() -> None:
    agent = agents.make("GP-UCB")
    agent.reset(Problem(name="line", dim=1, arms=X, kernel=SE(0.15), noise_std=0.1), np.random.default_rng(0))
    assert agent.sketch() is None
    assert all(np.isnan(x) for x in sketch_accuracy(None, np.arange(3)).values())
    assert tuple(sketch_accuracy(None, np.arange(3))) == SKETCH_COLUMNS


def test_before_the_first_pull_the_sketch_is_the_prior() -> None:
    agent = Sketched([3])
    agent.posterior = SketchedArmPosterior(SE(0.15), X, LAM)
    found = sketch_accuracy(agent.sketch(), np.arange(40))
    assert (found["dictionary"], found["d_eff"], found["ratio_low"], found["ratio_high"]) == (0, 0, 1, 1)


class Holder:
    """Holds arrays in several ways."""

    def __init__(self) -> None:
        arms = np.zeros((1000, 10))
        self.problem = Problem(name="x", dim=10, arms=arms)
        self.block = np.zeros(100)
        self.view = self.block[:50]
        self.box = {"a": [np.zeros(10), (np.zeros(5, np.int8),)], "again": self.block}
        self.mine = self
        self.arms = self.problem.arms


def test_every_block_counts_once_and_the_problem_not_at_all() -> None:
    assert held_bytes(Holder()) == 800 + 80 + 5
    assert held_bytes(object()) == 0


def test_kernel_rows_count_by_what_is_in_use() -> None:
    few, more = Sketched([3]), Sketched([3])
    more.posterior.rows.add(np.arange(12, 18))
    grown = held_bytes(more) - held_bytes(few)
    assert grown == more.posterior.rows.nbytes - few.posterior.rows.nbytes
    assert grown >= (10**2 - 4**2) * 8, "six more arms in the Gram matrix at least"
    assert held_bytes(few) < 64**2 * 8, "what is reserved for a Gram matrix of 64 arms is not in use"


def columns(*values: float) -> dict[str, float]:
    return dict(zip(BAND_COLUMNS, values, strict=True))


def test_a_band_is_measured_against_the_means() -> None:
    f = np.array([0.0, 1.0, -2.0])
    mean = np.array([0.0, 0.5, -1.0])
    assert band_violations((mean, np.array([1.0, 1.0, 4.0])), f) == columns(0.0, 0.5, 4.0)
    assert band_violations((mean, np.array([0.0, 0.25, 0.5])), f) == columns(2.0, 2.0, 0.5)
    assert band_violations((f, np.zeros(3)), f) == columns(0.0, 0.0, 0.0)
    assert band_violations((mean, np.zeros(3)), f)["required_scaling"] == np.inf
    for bad in ((mean[:2], np.ones(2)), (mean, -np.ones(3)), (mean * np.nan, np.ones(3)), (mean, np.full(3, np.nan))):
        with pytest.raises(ValueError, match="predict: expected means and half-widths >= 0"):
            band_violations(bad, f)


def started(ref: Ref, problem: Problem) -> agents.Agent:
    """The agent at the beginning of an episode."""
    agent = build_agent(ref)
    agent.reset(problem, np.random.default_rng(0))
    return agent


@pytest.mark.parametrize(
    ("agent", "width"),
    [
        (Ref("GP-UCB"), "theory"),
        (Ref("GP-UCB", {"width": 1.96}), "1.96"),
        (Ref("Uniform"), ""),
        (Ref("BPE", {"width": "growing"}), "growing"),
        (Ref("MAP-UCB"), "1.96"),
        (Ref("GP-EI"), ""),
        (Ref("UncertaintySampling"), "theory"),
    ],
)
def test_the_width_is_the_setting_or_its_default(agent: Ref, width: str) -> None:
    assert started(agent, stated_problem()).band_guarantee().width == width


def stated_problem(knowledge: Knowledge = "oracle", norm_bound: float | None = None) -> Problem:
    return Problem(
        name="x",
        dim=1,
        arms=np.zeros((2, 1)),
        kernel=SE(1.0),
        noise_std=0.1,
        noise_tails=NoiseTails(0.1, gaussian=True),
        norm_bound=norm_bound,
        horizon=20,
        knowledge=knowledge,
    )


@pytest.mark.parametrize(
    ("kwargs", "problem", "reason"),
    [
        ({}, stated_problem(norm_bound=1.0), ""),
        ({"width": "bayes"}, stated_problem(), ""),
        ({"norm_bound": 3.0}, stated_problem(norm_bound=1.0), ""),
        ({}, stated_problem(), "no bound on the norm"),
        ({"norm_bound": 3.0}, stated_problem(), "the bound on the norm is the policy's own"),
        ({"width": "bayes"}, stated_problem(norm_bound=1.0), "no draw from the prior"),
        ({}, stated_problem("misspecified", 1.0), "not known to be true"),
        ({"lam": 1.0}, stated_problem(norm_bound=1.0), ""),  # the theorem holds for every lam
        ({"lam": 1.0, "width": "bayes"}, stated_problem(), "not known to be true"),
        ({"kernel": {"name": "se", "lengthscale": 1.0}}, stated_problem(norm_bound=1.0), "not known to be true"),
        ({"norm_bound": "double"}, stated_problem(), "the norm of the mean is guessed"),
        ({"width": "bayes", "norm_bound": "double"}, stated_problem(), "no draw from the prior"),
        ({"width": "practical"}, stated_problem(norm_bound=1.0), "a tuned width"),
        ({"width": 2.0}, stated_problem(norm_bound=1.0), "a tuned width"),
    ],
)
def test_a_theorem_promises_something_under_its_conditions_alone(
    kwargs: dict[str, object], problem: Problem, reason: str
) -> None:
    found = guarantee_status(started(Ref("GP-UCB", kwargs), problem).band_guarantee(), problem)
    assert found == "" if not reason else reason in found


def test_informative_is_the_share_of_bands_narrower_than_the_range() -> None:
    f = np.array([0.0, 1.0, 2.0, 0.5])
    assert informative((f, np.array([0.5, 0.99, 1.0, 3.0])), f) == 0.5
    assert np.isnan(informative(None, f))
