"""Every registered agent, in its main forms, keeps the protocol."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem

# Tracing lines would be a third of their time, and finds here what the tests of each policy find.
pytestmark = pytest.mark.no_cover

# The search for the next point on a box, cut down: what is tested is the protocol, not how well it searches.
FEW = {"candidates": 16, "starts": 1, "iterations": 5}
# Fits likewise: one climb each, from the fewest data.
LEARNERS = (
    "UHE-BO",
    "RA-BO",
    "Random+EXP3",
    "MAP-UCB",
    "MAP-BUCB",
    "MAP-EI",
    "MCMC-UCB",
    "A-GP-UCB",
    "LB-GP-UCB",
    "Wang-deFreitas",
    "Portfolio",
)
LEARNS = {**FEW, "n_initial": 3, "fits": 1}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "EpsGreedy": [{}, {"epsilon": 0.2}],
    "GP-UCB": [
        {**FEW},
        {"width": "practical", **FEW},
        {"width": "bayes", "n_start": 3, **FEW},
        {"width": "dmm", **FEW},
        {"width": "dmm-slack", **FEW},
        {"width": "lr", **FEW},
        {"width": "ay", **FEW},
    ],
    "EC-GP-UCB": [{**FEW}, {"misspecification": 0.1, "width": "amm", "n_start": 3, **FEW}],
    "RGP-UCB": [{**FEW}, {"corruption": 2.0, "enlargement": 0.1, "width": "amm", "n_start": 3, **FEW}],
    "IRGP-UCB": [{}, {"n_start": 3}],
    "GP-EI": [{**FEW}, {"n_start": 3, **FEW}],
    "GP-TS": [{"n_features": 64, **FEW}, {"n_start": 3, "n_features": 64, **FEW}],
    "GP-AUCB": [{"width": "amm"}, {"width": "practical", "n_start": 2}, {"rule": "sum", "c": 5.0}],
    "GP-BUCB": [{}, {"batch_size": 1}, {"batch_size": 7, "t_init": 5, "c": 0.5}, {"width": "bayes", "n_start": 2}],
    "MVR": [{}, {"width": "amm"}],
    "GP-UCB-PE": [{"batch_size": 4}, {"batch_size": 3, "width": "bayes", "n_start": 2}],
    "GP-UCB-SDF": [{}, {"m": 2, "width": 1.5, "shift": 0.5, "widened": False}],
    "NRB-UCB": [{"batch_size": 4}],
    "NTB-UCB": [{"batch_size": 4, "n_start": 3}],
    "SM-UCB": [{"batch_size": 4, "n_simulations": 5, "n_start": 2}],
    "SM-MEI": [{"batch_size": 4, "n_simulations": 5}],
    "ASYNC-TS": [{"batch_size": 4}, {"width": {"name": "practical", "scale": 0.1}, "n_start": 2, "max_rank": 3}],
    "BoTorch-EI": [{"raw_samples": 8, "num_restarts": 1, "n_start": 2}],
    "BoTorch-UCB": [{"raw_samples": 8, "num_restarts": 1, "n_start": 2}],
    **{id: [LEARNS] for id in LEARNERS},
    "LB-GP-UCB": [LEARNS, {**LEARNS, "form": "code"}],
    "MCMC-UCB": [{**LEARNS, "burn_in": 5, "samples": 3}],
    "REG-EVOLUTION": [{"population": 8, "tournament": 3}],
    "BKB": [{}, {"width": "amm"}, {"width": "practical", "draws": "pull"}],
    "BBKB": [{}, {"width": "practical"}, {"c": 1.0}, {"c": 10.0, "qbar": 0.5, "n_start": 3}, {"min_batch": 3.0}],
    "BBKB-GlobalLocal": [{"width": "practical", "c": 3.0}, {"draws": "arm"}],
    "TV-GP-UCB": [{"eps": 0.05}, {"eps": 0.0}, {"eps": 1.0, "n_start": 3}, {"eps": 0.3, "width": 2.0}],
    "R-GP-UCB": [{"block": 7}, {"block": 1, "width": "theory", "n_start": 2}],
    "SW-GP-UCB": [{"window": 6}, {"window": 40}, {"window": 1, "width": 2.0, "n_start": 2}],
    "WGP-UCB": [{"eta": 0.9}, {"eta": 1.0}, {"eta": 0.5, "width": "bayes"}],
    "BPE": [
        {},
        {"n_batches": 3},
        {"n_batches": 4, "lengths": "equal"},
        {"posterior": "full", "width": "growing"},
        {"lengths": "doubling"},
    ],
    "REDS": [{}, {"n_batches": 3, "lengths": "kernel"}],
    "RGP-PE": [
        {},
        {"corruption": 1.0, "enlargement": "tight", "lam": 1.0, "eta": 1.0},
        {"corruption": 1.0, "enlargement": 0.1, "psi": 0.1},
    ],
    "BPE-Delay": [{}, {"delay": {"mean": 3.0, "scale": 2.0, "tail": 1.0}}, {"delay": {"mean": 2}, "extension": "tail"}],
}
# Modules of extras that an agent needs, and horizons for those that take long over a suggestion.
REQUIRES = {
    "Optuna-TPE": ("optuna",),
    "Optuna-GP": ("optuna", "torch"),
    "BoTorch-EI": ("botorch",),
    "BoTorch-UCB": ("botorch",),
}
HORIZONS = {**dict.fromkeys(LEARNERS, 12), "Optuna-TPE": 24, "Optuna-GP": 12, "BoTorch-EI": 5, "BoTorch-UCB": 5}
SEARCHES = 12  # evaluations of those that search a box, which take longest
CASES = [(id, kwargs) for id in agents.registered() for kwargs in VARIANTS.get(id, [{}])]


def make(id: str, kwargs: dict[str, Any]) -> agents.Agent:
    """The agent; skips the test, with the reason, where it needs a module that is not installed."""
    for module in REQUIRES.get(id, ()):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed; {id} needs it")
    return agents.make(id, **kwargs)


@pytest.mark.parametrize(("id", "kwargs"), CASES, ids=str)
def test_protocol(id: str, kwargs: dict[str, Any]) -> None:
    horizon = HORIZONS.get(id, SEARCHES if FEW.keys() <= kwargs.keys() else 24)
    agents.check_agent(lambda: make(id, kwargs), horizon, show=None)


@pytest.mark.parametrize(("id", "kwargs"), CASES, ids=str)
def test_pickle_and_deepcopy(id: str, kwargs: dict[str, Any]) -> None:
    agent = make(id, kwargs)
    on_arms = Problem(name="p", dim=1, arms=np.linspace(0, 1, 9)[:, None], kernel=SE(0.2), noise_std=0.1, horizon=9)
    for domain in sorted(agent.capabilities.domains):
        problem = on_arms if domain == "finite" else replace(on_arms, arms=None)
        agent.reset(problem, np.random.default_rng(0))
        first = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([0], first, [0.5]))
        twins = [pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
        expected = agent.select(1, Pending.empty(problem))
        for twin in twins:
            np.testing.assert_array_equal(twin.select(1, Pending.empty(problem)), expected)


def test_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.core.registry._registry", {})
    agents.register("Test.Uniform", "agents.baselines.uniform:Uniform")
    agents.register("Test.Uniform", "agents.baselines.uniform:Uniform")
    assert type(agents.make("Test.Uniform")).__name__ == "Uniform"
    with pytest.raises(ValueError, match="already registered"):
        agents.register("Test.Uniform", "agents.baselines.eps_greedy:EpsGreedy")
    with pytest.raises(ValueError, match="id: expected letters"):
        agents.register("no spaces", "a:b")
    agents.register("Test.Missing", "agents.baselines.uniform:Nothing")
    with pytest.raises(ValueError, match="has no attribute 'Nothing'"):
        agents.make("Test.Missing")
    agents.register("Test.Malformed", "agents.baselines.uniform")
    with pytest.raises(ValueError, match=r"expected 'package\.module:Attribute'"):
        agents.make("Test.Malformed")


def test_feedback_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="rewards: expected finite feedback unless failed, got nan for ticket 3"):
        Feedback.of([3], np.array([0]), [np.nan])
    with pytest.raises(ValueError, match="rewards: expected 2 entries"):
        Feedback.of([3, 4], np.array([0, 1]), [1.0])


def test_a_class_that_is_defined_anew_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    uniform = agents.spec("Uniform").load()
    monkeypatch.setattr("agents.core.registry._registry", {})

    def cell(said: str) -> Any:
        class Mine(uniform):  # type: ignore[valid-type, misc]
            words = said

        return Mine

    agents.register("Test.Mine", cell("first"))
    agents.register("Test.Mine", cell("second"))
    assert agents.make("Test.Mine").words == "second"  # type: ignore[attr-defined]
    for other in (uniform, "agents.baselines.uniform:Uniform"):
        with pytest.raises(ValueError, match="already registered"):
            agents.register("Test.Mine", other)
