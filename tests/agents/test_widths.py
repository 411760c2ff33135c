"""Each schedule against its formula, worked out by hand for one context."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback
from agents.core import widths
from agents.core.widths import WidthContext
from agents.exact.dual_mixture import DualMixture
from agents.sketched.theory import BBKBTheorem2, BKBTheorem2
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import begun

CONTEXT = WidthContext(
    t=7,
    n_arms=20,
    lam=0.04,
    noise_std=0.1,
    norm_bound=3.0,
    delta=0.05,
    prior_variance=1.5,
    information_gain=2.5,
    effective_dimension=4.0,
    sum_log_leverage=1.7,
    sum_log_3_leverage=2.9,
    batch_ratio=2.0,
    dim=3,
)

FORMULAS = [
    (widths.Constant(1.96), 1.96),
    (widths.FiniteBayes(), 2 * sqrt(2 * log(20 * 49 * pi**2 / 0.3))),
    (widths.Logarithmic(), 2 * sqrt(3 * log(14))),
    (
        widths.CompactBayes(a=1.5, b=2.0, side=4.0),
        2 * sqrt(2 * log(2 * 49 * pi**2 / 0.15) + 6 * log(49 * 3 * 2 * 4 * sqrt(log(4 * 3 * 1.5 / 0.05)))),
    ),
    (widths.AnalyticMixture(), 2 * sqrt(9 + 0.25 * 2 * (2.5 + log(20)))),
    (DualMixture(), 2 * sqrt(9 + 0.25 * 2 * (2.5 + log(20)))),
    (widths.InformationGain(), 2 * (3 + 0.5 * sqrt(2 * (2.5 + 1 + log(20))))),
    (BKBTheorem2(), (0.2 * sqrt(3 * log(10.5) * 4 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (BKBTheorem2(eps=0.75), (0.2 * sqrt(7 * log(10.5) * 4 + log(20)) + 3 * 0.2 * 3) / 0.2),
    (BBKBTheorem2(), 2 * (0.2 * sqrt(2.9 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (widths.EffectiveDimension(), 2 * (3 + 0.5 * sqrt(log(7) * 4 + log(20)))),
    (widths.LogDeterminant(), 3 + 0.5 * sqrt(2 * 1.7 + log(20))),
    (widths.Scaled(widths.FiniteBayes(), 0.2), 0.4 * sqrt(2 * log(20 * 49 * pi**2 / 0.3))),
]


@pytest.mark.parametrize(("schedule", "value"), FORMULAS, ids=lambda x: str(x)[:24])
def test_formula(schedule: widths.WidthSchedule, value: float) -> None:
    assert schedule(CONTEXT) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("schedule", [schedule for schedule, _ in FORMULAS], ids=lambda x: str(x)[:24])
def test_the_first_step_is_defined(schedule: widths.WidthSchedule) -> None:
    first = replace(CONTEXT, t=1, information_gain=0.0, effective_dimension=0.0, prior_variance=1e-3)
    assert 0 <= schedule(first) < float("inf")


@pytest.mark.parametrize("width", ["theory", "amm", "practical", "bayes", "growing"])
def test_every_named_width_of_gp_bucb_is_that_of_gp_ucb_times_exp_c(width: str) -> None:
    X = np.random.default_rng(0).random((30, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)
    found = {}
    pairs: Any = (("GP-UCB", {}), ("GP-BUCB", {"c": 0.0}), ("GP-BUCB", {"c": 0.7}))
    for id, kwargs in pairs:
        agent = begun(problem, id, width=width, **kwargs)
        agent.observe(Feedback.of(range(4), np.array([3, 9, 9, 20]), [0.1, 0.2, 0.3, 0.4]))
        found[id, kwargs.get("c", 0.0)] = agent.diagnostics()["width"]
    assert found["GP-BUCB", 0.0] == pytest.approx(found["GP-UCB", 0.0])
    assert found["GP-BUCB", 0.7] == pytest.approx(exp(0.7) * found["GP-UCB", 0.0])


class TestGainOfABatch:
    """`c=None` of GP-BUCB: `exp(C)` with the gain that theorems need, for widths of theorems alone."""

    X = np.random.default_rng(1).random((7, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.6), noise_std=1.0, norm_bound=2.0, horizon=50)

    def ratio(self, problem: Problem, **kwargs: Any) -> float:
        """The width over that of GP-UCB."""
        plain = begun(problem, "GP-UCB", width=kwargs["width"])
        return float(begun(problem, "GP-BUCB", **kwargs).current_width / plain.current_width)

    @pytest.mark.parametrize("width", ["theory", "amm", "bayes"])
    def test_no_batch_tells_more_than_a_proven_width_allows_for(self, width: str) -> None:
        C = np.log(self.ratio(self.problem, width=width, batch_size=4))
        K = SE(0.6)(self.X, self.X)
        sets = [list(s) for s in np.ndindex(7, 7, 7)]
        largest = max(0.5 * np.linalg.slogdet(np.eye(3) + K[np.ix_(s, s)])[1] for s in sets)
        assert largest <= C <= largest / (1 - 1 / exp(1))

    @pytest.mark.parametrize("width", ["practical", "growing", 2.0, {"name": "bayes", "scale": 0.5}])
    def test_a_tuned_width_stands_as_it_is(self, width: object) -> None:
        assert self.ratio(self.problem, width=width, batch_size=4) == pytest.approx(1.0)

    def test_a_batch_of_one_is_gp_ucb(self) -> None:
        assert self.ratio(self.problem, width="theory", batch_size=1) == pytest.approx(1.0)

    def test_an_initial_design_lowers_it(self) -> None:
        plain = self.ratio(self.problem, width="theory", batch_size=4)
        assert 1 < self.ratio(self.problem, width="theory", batch_size=4, t_init=30) < 0.8 * plain

    def test_a_gain_that_no_width_can_carry_is_named(self) -> None:
        arms = np.arange(200.0)[:, None]
        problem = Problem(name="wide", dim=1, arms=arms, kernel=SE(0.1), noise_std=0.01, horizon=50)
        with pytest.raises(ValueError, match=r"c: expected a number, since 30 open evaluations may tell 138 nats on"):
            agents.make("GP-BUCB", batch_size=31).reset(problem, np.random.default_rng(0))
        agents.make("GP-BUCB", batch_size=31, c=1.0).reset(problem, np.random.default_rng(0))


@pytest.mark.parametrize("id", ["BKB", "BBKB"])
def test_a_sketched_policy_knows_the_information_gain_that_it_states(id: str) -> None:
    X = np.random.default_rng(0).random((30, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)
    agent, exact = begun(problem, id, width=widths.InformationGain(), qbar=1e6), begun(problem, "GP-UCB")
    for policy in (agent, exact):
        for t, arm in enumerate((3, 9, 9, 20)):
            policy.observe(Feedback.of([t], np.array([arm]), [0.1]))
    assert agent.diagnostics()["information_gain"] == pytest.approx(exact.diagnostics()["information_gain"])
    factor = agent.batch_ratio
    assert agent.diagnostics()["width"] == pytest.approx(factor * exact.diagnostics()["width"])


@pytest.mark.parametrize("id", ["BPE", "RGP-PE", "TV-GP-UCB"])
def test_a_scaled_width_depends_on_the_pulls_if_what_it_scales_does(id: str) -> None:
    X = np.linspace(0, 1, 9)[:, None]
    arms = Problem(name="arms", dim=1, arms=X, kernel=SE(0.2), noise_std=0.1, norm_bound=1.0, horizon=20)
    settings: dict[str, Any] = {"TV-GP-UCB": {"eps": 0.01}, "RGP-PE": {"corruption": 0.0}}.get(id, {})
    found = []
    for scale in (1.0, 0.5):
        width = {"name": "bayes" if id == "TV-GP-UCB" else "theory", "scale": scale}
        agent = begun(arms, id, width=width, **settings)
        found.append(agent.diagnostics()["width"])
    assert found[1] == pytest.approx(found[0] / 2)
    with pytest.raises(ValueError, match="depend"):
        agents.make(id, width=widths.Scaled(widths.InformationGain(), 0.5), **settings)


@pytest.mark.parametrize("eps", [0.0, 1.0, 2.0, "a"])
def test_the_accuracy_of_a_dictionary_is_checked_at_once(eps: object) -> None:
    with pytest.raises((ValueError, TypeError), match="eps: expected a number in"):
        agents.make("BKB", width={"name": "theory", "eps": eps})


@pytest.mark.parametrize("number", [2, 2.0, np.int64(2), np.float32(2), Fraction(2)], ids=repr)
def test_any_real_number_is_a_width(number: object) -> None:
    assert widths.as_width(number, {}) == widths.Constant(2.0)


@pytest.mark.parametrize("word", [True, np.bool_(True), 2j, None], ids=repr)
def test_what_is_no_real_number_is_no_width(word: object) -> None:
    with pytest.raises(TypeError, match="width: expected one of"):
        widths.as_width(word, {})


@pytest.mark.parametrize("bad", [{"a": 0.0}, {"b": -1.0}, {"side": float("inf")}])
def test_bad_constants_are_named(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(bad))}: expected a finite number > 0"):
        widths.CompactBayes(**bad)
