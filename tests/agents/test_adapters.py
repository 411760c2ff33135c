"""Other libraries' optimisers: they see the history and the units, keep the protocol, and leave nothing behind."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.adapters import AskTell, optuna_samplers
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.problem import Problem
from leaderboards.play.build import load_class
from leaderboards.play.suite import SuiteError, expanded, load_suite
from tests.agents.play import begun
from tests.agents.test_ask_tell import Climber

PROBLEM = Problem(name="box", dim=2, horizon=40)
DOMAIN = Domain(
    (
        Dimension(1, 9, integer=True, name="depth"),
        Dimension(1e-4, 1.0, log=True, name="rate"),
        Dimension(1, 64, integer=True, log=True),
    )
)

needs_optuna = pytest.mark.skipif(find_spec("optuna") is None, reason="optuna is not installed")
needs_botorch = pytest.mark.skipif(find_spec("botorch") is None, reason="botorch is not installed")


def play(agent: agents.Agent, problem: Problem, n: int, failing: frozenset[int] = frozenset()) -> np.ndarray:
    """All points played on a bowl with its top, 0, at 0.3."""
    agent.reset(problem, np.random.default_rng(0))
    points = []
    for t in range(n):
        x = agent.select(1, Pending.empty(problem))
        y = -np.square(x - 0.3).sum(axis=1)
        failed = np.array([t in failing])
        agent.observe(Feedback(np.array([t]), x, np.where(failed, np.nan, y), np.ones(1), failed))
        points.append(x[0])
    return np.array(points)


@needs_optuna
def test_tpe_is_optunas_own() -> None:
    """The same suggestions as a study of Optuna's that is fed the same history, sampler by sampler."""
    import optuna

    points = play(agents.make("Optuna-TPE"), PROBLEM, 14)
    distributions: Any = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(2)}
    rng = np.random.default_rng(0)
    before: list[Any] = []
    for x in points:
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=int(rng.integers(2**31)))
        )
        study.add_trials(before)
        np.testing.assert_array_equal(list(study.ask(distributions).params.values()), x)
        params = dict(zip(distributions, x.tolist(), strict=True))
        value = -float(np.square(x - 0.3).sum())
        before.append(optuna.trial.create_trial(params=params, distributions=distributions, value=value))


@needs_optuna
def test_optuna_sees_the_units_and_the_failures() -> None:
    import optuna

    problem = replace(PROBLEM, dim=3, notes={"domain": DOMAIN.to_spec()})
    agent: Any = agents.make("Optuna-TPE")
    points = play(agent, problem, 14, failing=frozenset({3, 8}))
    kinds = optuna.distributions
    distributions = agent._distributions(optuna)
    assert distributions == {
        "depth": kinds.IntDistribution(1, 9),
        "rate": kinds.FloatDistribution(1e-4, 1.0, log=True),
        "x2": kinds.IntDistribution(1, 64, log=True),
    }
    np.testing.assert_array_equal(DOMAIN.snap(points), points)
    trials = agent._trials(optuna, distributions)
    assert [t for t, trial in enumerate(trials) if trial.state == optuna.trial.TrialState.FAIL] == [3, 8]
    values = DOMAIN.values(points)
    np.testing.assert_allclose([list(trial.params.values()) for trial in trials], values)
    assert all(type(trial.params["depth"]) is int for trial in trials)


@needs_optuna
def test_recommendation_and_logging() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    agent = begun(PROBLEM, "Optuna-TPE")
    np.testing.assert_array_equal(np.asarray(agent.recommend()), [0.5, 0.5])
    points = play(agent, PROBLEM, 6, failing=frozenset({0}))
    best = points[1 + int(np.argmin(np.square(points[1:] - 0.3).sum(axis=1)))]
    np.testing.assert_array_equal(np.asarray(agent.recommend()), best)
    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    optuna.logging.set_verbosity(optuna.logging.INFO)
    with pytest.raises(ValueError, match="needs a box"):
        agent.reset(replace(PROBLEM, arms=np.zeros((3, 2))), np.random.default_rng(0))


@pytest.mark.slow
@needs_botorch
@pytest.mark.parametrize("id", ["BoTorch-EI", "BoTorch-UCB"])
def test_botorch_finds_the_top_and_leaves_the_global_generator_alone(id: str) -> None:
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    points = play(agents.make(id, raw_samples=64, num_restarts=2, n_start=4), PROBLEM, 12, failing=frozenset({2}))
    assert torch.equal(torch.rand(3), expected)
    assert np.square(points - 0.3).sum(axis=1).min() < 1e-3


@pytest.mark.slow
@needs_botorch
@pytest.mark.parametrize("id", ["BoTorch-EI", "BoTorch-UCB"])
def test_suggestions_do_not_depend_on_the_number_of_threads(id: str) -> None:
    import torch

    before, found = torch.get_num_threads(), []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append(play(agents.make(id, raw_samples=64, num_restarts=2, n_start=4), PROBLEM, 30))
            assert torch.get_num_threads() == n
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.slow
@needs_botorch
def test_botorch_without_anything_to_fit() -> None:
    """All evaluations failed, or all rewards equal: points are drawn uniformly, and nothing is divided by 0."""
    points = play(agents.make("BoTorch-EI", n_start=2), PROBLEM, 5, failing=frozenset(range(5)))
    assert len(np.unique(points, axis=0)) == 5
    assert ((points >= 0) & (points <= 1)).all()


@pytest.mark.parametrize(
    ("id", "package", "words"),
    [
        ("Optuna-TPE", "optuna", r'pip install "gpbandit-envs\[optuna\]"'),
        ("Optuna-GP", "torch", "needs PyTorch: pip install torch"),
        ("BoTorch-EI", "botorch", r'pip install "gpbandit-envs\[botorch\]"'),
    ],
)
def test_a_missing_extra_is_named(id: str, package: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if package == "torch" and find_spec("optuna") is None:
        pytest.skip("optuna is not installed")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=words):
        agents.make(id)


@pytest.mark.parametrize(
    ("id", "kwargs", "words"),
    [
        ("Optuna-TPE", {"sampler": "cma"}, "sampler: expected 'tpe' or 'gp', got 'cma'"),
        ("BoTorch-EI", {"acquisition": "pi"}, "acquisition: expected 'ei' or 'ucb'"),
        ("BoTorch-UCB", {"width": -1.0}, "width: expected a finite number >= 0"),
        ("BoTorch-UCB", {"n_start": 0}, "n_start: expected an integer >= 1"),
    ],
)
def test_bad_arguments(id: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        agents.make(id, **kwargs)


@needs_optuna
def test_categories_are_optunas_own() -> None:
    domain = Domain((Dimension(choices=("a", "b", "c"), name="base"), Dimension(1, 9, integer=True, name="depth")))
    problem = Problem(name="box", dim=domain.dim, notes={"domain": domain.to_spec()})
    agent = begun(problem, "Optuna-TPE")
    assert isinstance(agent, optuna_samplers.Optuna)
    for t in range(24):
        x = agent.select(1, Pending.empty(problem))
        np.testing.assert_array_equal(domain.snap(x), x)
        agent.observe(Feedback.of([t], x, [float(domain.values(x)[0, 0] == 1)]))
    import optuna

    distributions = agent._distributions(optuna)
    assert distributions["base"] == optuna.distributions.CategoricalDistribution(("a", "b", "c"))
    assert [trial.params["base"] for trial in agent._trials(optuna, distributions)] == [
        "abc"[int(base)] for base in domain.values(agent.X)[:, 0]
    ]
    assert agent.X[12:, 1].mean() > 0.5  # more often the choice that is rewarded


# ---- optimisers of other libraries on tables of candidates and in plates, where they are installed ----


ARMS = np.random.default_rng(3).random((40, 2)) * [10.0, 1.0]
TABLE = Problem(name="table", dim=2, arms=ARMS, horizon=24)
TOOLS = {
    "optuna_study:OptunaStudy": ("optuna", {"sampler": "tpe"}),
    "optuna_study:OptunaStudy ": ("optuna", {"sampler": "gp"}),
    "botorch_table:BoTorchTable": ("botorch", {}),
    "baybe_campaign:BayBE": ("baybe", {}),
    "ax_client:Ax": ("ax", {}),
}


def _made(name: str, kwargs: dict[str, Any]) -> Any:
    made: Any = load_class(f"agents.adapters.{name.strip()}")
    return made(**kwargs)


def _played(agent: Any, plates: int, fails: frozenset[int] = frozenset()) -> list[int]:
    agent.reset(TABLE, np.random.default_rng(0))
    played: list[int] = []
    for _ in range(plates):
        plate = agent.select(8, Pending.empty(TABLE))
        failed = np.array([len(played) + i in fails for i in range(8)])
        rewards = np.where(failed, np.nan, -np.square(ARMS[plate] / [10.0, 1.0] - 0.5).sum(axis=1))
        tickets = np.arange(len(played), len(played) + 8)
        agent.observe(agents.Feedback(tickets, plate, rewards, np.ones(8), failed))
        played += plate.tolist()
    return played


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOOLS)
def test_they_play_plates_of_a_table_and_repeat_no_candidate(name: str) -> None:
    package, kwargs = TOOLS[name]
    pytest.importorskip(package, reason=f"{package} is not installed")
    if kwargs.get("sampler") == "gp":
        pytest.importorskip("torch", reason="Optuna's Gaussian process needs PyTorch")
    agent = _made(name, kwargs)
    played = _played(agent, 3, fails=frozenset({1}))
    assert len(set(played)) == 24
    assert agent.recommend() == max(
        (arm for i, arm in enumerate(played) if i != 1), key=lambda arm: -np.square(ARMS[arm] / [10, 1] - 0.5).sum()
    )
    assert _played(_made(name, kwargs), 2, fails=frozenset({1})) == played[:16]


@pytest.mark.parametrize("name", TOOLS)
def test_without_the_library_the_error_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, kwargs = TOOLS[name]
    for module in (package, f"{package}.api.client"):  # Ax is not imported as a whole
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'is not installed: pip install "gpbandit-envs\[{package}\]"'):
        _made(name, kwargs)


class Plates(AskTell):
    """Asks a `Climber` for a plate at once, and counts what was not played."""

    def start(self, seed: int) -> Any:
        self.dropped = self.asked_at_once = 0
        return Climber(self.problem.dim, seed)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def ask_many(self, optimizer: Any, n: int) -> list[Any]:
        self.asked_at_once = max(self.asked_at_once, n)
        return [optimizer.ask() for _ in range(n)]

    def drop(self, optimizer: Any, candidate: Any) -> None:
        self.dropped += 1

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


def test_a_plate_is_asked_for_at_once_and_what_is_not_played_is_dropped() -> None:
    agent = Plates()
    assert len(set(_played(agent, 3))) == 24
    agent.select(1, Pending.empty(TABLE))
    assert (agent.asked_at_once, agent.dropped) == (8, 24)  # no point that it asks for is an arm


def test_the_suite_of_outside_optimisers_has_the_functions_of_the_laboratory() -> None:
    whole, outside = load_suite("lab-v1"), load_suite("lab-outside")
    assert [task.key for task in outside.tasks] == [task.key for task in whole.tasks]
    assert outside.agents[: len(whole.agents)] == whole.frozen().agents
    named = [entry.id.removeprefix("agents.adapters.") for entry in outside.agents[len(whole.agents) :]]
    assert named == [name.strip() for name in TOOLS if not name.startswith("ax_client")]  # hours, see docs/lab.md
    assert (outside.repetitions, outside.part_of, outside.headline) == (10, "", "recommended")
    with pytest.raises(SuiteError, match=r"part of a suite: expected the keys name, .*, got name, tasks"):
        expanded({"name": "mine", "tasks": []})
