"""The policies against their textbook forms: same seeds, same noise, same arms and batches.

Those of BKB and BBKB are in `tests/reference/independent`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from gpbandit_envs.gp import SE, Kernel, Matern
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, gram, noisy, play
from tests.reference import policies
from tests.reference.posterior import dense

T = 60


def problem_of(seed: int, kernel: Kernel, n_arms: int = 50, noise_std: float = 0.1) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 2))
    mean = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
    return Problem(name="test", dim=2, arms=X, kernel=kernel, noise_std=noise_std, norm_bound=1.5, horizon=T), mean


PROBLEMS = [
    problem_of(0, SE(0.3)),
    problem_of(1, Matern(0.5, 1.5), noise_std=0.02),
    problem_of(2, SE(2.0), noise_std=1.0),
    problem_of(3, SE(0.05), n_arms=200),
    problem_of(4, SE(0.5), n_arms=2),
    problem_of(5, SE(0.5), n_arms=1),
]

# Two arms that take turns tie exactly; which is first then hangs on the last bit of the textbook's solve.
WITHOUT_TIES = [PROBLEMS[i] for i in (0, 1, 2, 3, 5)]


def constants(problem: Problem) -> tuple[np.ndarray, float, float, float, float]:
    assert problem.noise_std is not None
    return gram(problem), problem.noise_std**2, problem.noise_std, 1.5, 1 / T


def told(problem: Problem, mean: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return noisy(mean, constants(problem)[2], 6)


@pytest.mark.parametrize(
    ("id", "kwargs", "textbook", "more", "problems"),
    [
        ("GP-UCB", {"width": "practical"}, policies.gp_ucb, (), PROBLEMS),
        *[
            ("GP-AUCB", {"width": "practical", "rule": rule, "c": c}, policies.gp_aucb, (c, rule), PROBLEMS)
            for rule in ("product", "sum")
            for c in (1.0, 2.0, 4.0)
        ],
        *[
            ("GP-BUCB", {"width": "practical", "batch_size": size}, policies.gp_bucb, (size,), WITHOUT_TIES)
            for size in (1, 4, 10)
        ],
        ("RGP-UCB", {"corruption": 3.0}, policies.rgp_ucb, (3.0,), WITHOUT_TIES),
        ("EC-GP-UCB", {"misspecification": 0.2}, policies.ec_gp_ucb, (0.2,), WITHOUT_TIES),
    ],
)
def test_the_arms_of_the_textbook(id: str, kwargs: Any, textbook: Any, more: tuple[Any, ...], problems: Any) -> None:
    for problem, mean in problems:
        expected = textbook(*constants(problem), *more, T, told(problem, mean))
        assert play(agents.make(id, **kwargs), problem, told(problem, mean), 0) == expected.batches


@pytest.mark.parametrize(("id", "kwargs"), [("EC-GP-UCB", {}), ("RGP-UCB", {}), ("GP-UCB-PE", {"batch_size": 1})])
def test_with_nothing_to_allow_for_it_is_gp_ucb(id: str, kwargs: dict[str, int]) -> None:
    problem, mean = PROBLEMS[0]
    plain = play(agents.make("GP-UCB"), problem, told(problem, mean), 0)
    assert play(agents.make(id, **kwargs), problem, told(problem, mean), 0) == plain


@pytest.mark.parametrize(("problem", "mean"), WITHOUT_TIES)
@pytest.mark.parametrize("posterior", ["batch", "full"])
@pytest.mark.parametrize("n_batches", [None, 3])
def test_bpe(problem: Problem, mean: np.ndarray, posterior: str, n_batches: int | None) -> None:
    agent: Any = agents.make("BPE", width=1.5, posterior=posterior, n_batches=n_batches)
    batches = play(agent, problem, told(problem, mean), 0)
    lengths = [len(batch) for batch in batches]
    assert sum(lengths) == T
    expected = policies.bpe(*constants(problem)[:2], 1.5, lengths, posterior == "full", told(problem, mean))
    assert batches == expected.batches
    assert agent.alive.tolist() == expected.dictionaries[-1]
    assert not agent.inconsistent


def test_naive_batches() -> None:
    problem, mean = PROBLEMS[0]
    repeated = play(agents.make("NRB-UCB", width=2.0, batch_size=5), problem, noisy(mean, 0.1, 1), 0)
    assert all(len(batch) == 5 and len(set(batch)) == 1 for batch in repeated)
    top = play(agents.make("NTB-UCB", width=2.0, batch_size=5), problem, noisy(mean, 0.1, 1), 0)
    assert all(len(batch) == 5 and len(set(batch)) == 5 for batch in top)
    # Both lead with the arm that GP-UCB would pull, and both begin with all arms tied.
    assert repeated[0][0] == 0
    assert top[0] == [0, 1, 2, 3, 4]


def test_gp_bucb_plays_any_delay_with_open_evaluations_hallucinated() -> None:
    problem, mean = PROBLEMS[0]
    K, lam, xi = constants(problem)[:3]
    agent = begun(problem, "GP-BUCB", width=2.0, batch_size=3)
    feedback = noisy(mean, xi, 2)
    opened: list[int] = []
    seen: list[int] = []
    y: list[float] = []
    for t in range(30):
        pending = Pending(np.arange(len(seen), len(seen) + len(opened)), np.array(opened, np.int64))
        arms = agent.select(1, pending)
        pulled = np.array(seen + opened, np.int64)
        variance = dense(K, pulled, np.zeros(len(pulled)), lam)[1] if t else np.diagonal(K)
        known = dense(K, np.array(seen), np.array(y), lam)[0] if seen else np.zeros(len(K))
        assert arms.tolist() == [int(np.argmax(known + 2 * np.sqrt(np.maximum(variance, 0))))]
        opened.append(int(arms[0]))
        if len(opened) == 3:  # the oldest of three arrives: a constant delay
            assert len(agent.select(1, Pending(np.arange(3), np.array(opened)))) == 0
            reward = float(feedback(np.array(opened[:1]))[0])
            agent.observe(Feedback.of([len(seen)], np.array(opened[:1]), [reward]))
            seen.append(opened.pop(0))
            y.append(reward)


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
def test_bbkb_with_an_exact_dictionary_is_gp_aucb_with_the_sum_rule(
    problem: Problem, mean: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All arms are an exact dictionary; all pulled arms are not, within a batch that picks new ones.
    monkeypatch.setattr("agents.sketched.base.posterior_sampling", lambda *_: np.arange(problem.n_arms))
    bbkb = agents.make("BBKB", width="practical")
    aucb = agents.make("GP-AUCB", width="practical", rule="sum", n_start=1)
    xi = constants(problem)[2]
    assert play(bbkb, problem, noisy(mean, xi, 1), 5) == play(aucb, problem, noisy(mean, xi, 1), 5)


def test_settings_come_from_the_card_and_are_overridden_by_arguments() -> None:
    problem, _ = PROBLEMS[0]
    agent = begun(problem, "GP-UCB", width="theory")
    first = agent.diagnostics()["width"]
    assert first == pytest.approx(1.5 + np.sqrt(2 * (1 + np.log(T))))
    agent = begun(problem, "GP-UCB", width="theory", norm_bound=3.0, delta=0.1, lam=0.04)
    assert agent.diagnostics()["width"] == pytest.approx(3.0 + 0.1 / 0.2 * np.sqrt(2 * (1 + np.log(10))))


def test_what_is_missing_is_named() -> None:
    problem, _ = PROBLEMS[0]
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="kernel: test offers none"):
        agents.make("GP-UCB").reset(replace(problem, kernel=None), rng)
    with pytest.raises(ValueError, match="lam: test does not state its noise_std"):
        agents.make("BBKB").reset(replace(problem, noise_std=None), rng)
    agents.make("BBKB", lam=0.1, kernel={"name": "se"}).reset(replace(problem, noise_std=None, kernel=None), rng)
    with pytest.raises(ValueError, match="needs a finite set of arms"):
        agents.make("Uniform").reset(replace(problem, arms=None), rng)


@pytest.mark.wrong_arguments
def test_whole_numbers_of_other_types_are_counts() -> None:
    problem, _ = PROBLEMS[0]
    for size in (4, 4.0, np.int32(4), np.float64(4)):
        agent = begun(problem, "SM-UCB", batch_size=size, n_simulations=size)
        assert len(agent.select(10, Pending.empty(problem))) == 4


@pytest.mark.parametrize(
    ("id", "kwargs", "error", "words"),
    [
        ("GP-UBC", {}, ValueError, "did you mean 'GP-UCB'"),
        ("GP-UCB", {"wdith": 1}, TypeError, "unknown argument 'wdith'; it takes kernel, .*width"),
        ("GP-UCB", {"width": "practcal"}, ValueError, "expected one of 'theory', 'amm', 'practical', 'bayes'"),
        ("GP-UCB", {"width": -1.0}, ValueError, "width: expected a finite number >= 0"),
        ("GP-UCB", {"width": None}, TypeError, "width: expected one of"),
        ("GP-UCB", {"delta": 1.0}, ValueError, "delta: expected a probability"),
        ("GP-UCB", {"lam": 0.0}, ValueError, "lam: expected a finite number > 0"),
        ("GP-UCB", {"norm_bound": -1}, ValueError, "norm_bound: expected a finite number > 0"),
        ("GP-UCB", {"n_start": -1}, ValueError, "n_start: expected an integer"),
        ("GP-UCB", {"kernel": {"name": "rbf"}}, ValueError, "kernel: expected"),
        ("GP-AUCB", {"c": 0.5}, ValueError, "c: expected a threshold >= 1"),
        ("GP-AUCB", {"rule": "max"}, ValueError, "rule: expected 'product' or 'sum'"),
        ("GP-AUCB", {"c": float("inf")}, ValueError, "c: expected a threshold >= 1 and finite, got inf"),
        ("BBKB", {"min_batch": float("inf")}, ValueError, "min_batch: expected a finite number > 0, got inf"),
        ("GP-BUCB", {"t_init": 2.5}, ValueError, "t_init: expected an integer >= 0, got 2.5"),
        ("GP-BUCB", {"batch_size": 2.5}, ValueError, "batch_size: expected an integer >= 1, got 2.5"),
        ("SM-UCB", {"batch_size": "5"}, ValueError, "batch_size: expected an integer >= 1, got '5'"),
        ("ASYNC-TS", {"max_rank": float("inf")}, ValueError, "max_rank: expected an integer from 1 to .*, got inf"),
        ("BPE", {"n_batches": 2.5}, ValueError, "n_batches: expected an integer >= 1, got 2.5"),
        ("REG-EVOLUTION", {"population": 10.5}, ValueError, "population: expected an integer >= 1, got 10.5"),
        ("REG-EVOLUTION", {"tournament": 2.5}, ValueError, "tournament: expected an integer >= 1, got 2.5"),
        ("MCMC-UCB", {"burn_in": 2.7}, ValueError, "burn_in: expected an integer >= 0, got 2.7"),
        ("MAP-UCB", {"n_initial": float("nan")}, ValueError, "n_initial: expected an integer >= 1, got nan"),
        ("BBKB", {"qbar": 0}, ValueError, "qbar: expected"),
        ("EpsGreedy", {"epsilon": 2}, ValueError, "epsilon: expected a probability"),
        ("EpsGreedy", {"c": 0}, ValueError, "c: expected"),
    ],
)
def test_bad_settings_are_named(id: str, kwargs: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        agents.make(id, **kwargs)
