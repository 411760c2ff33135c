from __future__ import annotations

import math

import numpy as np
import pytest

from agents.core.information import greedy_information
from gpbandit_envs.gp.exact import ExactPosterior
from leaderboards.claims import theorems
from leaderboards.play.suite import load_suite

RNG = np.random.default_rng(0)
T = 60
RUN = {
    "action": RNG.integers(0, 40, T),
    "regret": np.full(T, 0.01),
    "batch": 1 + np.arange(T) // 5,
    "dictionary_size": np.full(T, 4.0),
}
SETTINGS = {"delta": 0.05, "c": 2.0, "qbar": 3.0, "t_init": 10}


def exact(arms: np.ndarray) -> ExactPosterior:
    problem = theorems.task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    posterior = ExactPosterior(problem.kernel, problem.arms, 1.0)
    distinct, counts = np.unique(arms, return_counts=True)
    posterior.update(distinct, counts.astype(np.float64), np.zeros(len(distinct)))
    return posterior


def test_effective_dimension_is_that_of_the_exact_posterior() -> None:
    for t in (1, 7, T):
        arms = RUN["action"][:t]
        assert theorems.effective_dimension(arms) == pytest.approx(exact(arms).effective_dimension(), rel=1e-8)


def test_gain_in_a_batch_is_a_difference_of_gains() -> None:
    """Batches of 5 after a start of 10: the first four picks of each, given all before, by the exact posterior."""
    slow = [
        exact(RUN["action"][: start + 4]).information_gain - exact(RUN["action"][:start]).information_gain
        for start in range(10, T, 5)
    ]
    assert theorems.largest_gain_in_a_batch(RUN, SETTINGS) == pytest.approx(max(slow), rel=1e-8)
    assert theorems.largest_gain_in_a_batch(RUN, {**SETTINGS, "t_init": T}) == 0.0


def test_dictionaries_and_batches_are_compared_at_the_end_of_every_batch() -> None:
    ends = range(5, T + 1, 5)
    posteriors = [exact(RUN["action"][:end]) for end in ends]
    dictionaries = [4.0 / (3.0 * posterior.effective_dimension()) for posterior in posteriors]
    assert theorems.dictionary_ratio(RUN, SETTINGS) == pytest.approx(max(dictionaries), rel=1e-8)
    batches = [(n + 1) / (2 * posterior.information_gain) for n, posterior in enumerate(posteriors)]
    assert theorems.batches_ratio(RUN, SETTINGS) == pytest.approx(max(batches), rel=1e-8)


@pytest.mark.parametrize("ratio", [theorems.gp_bucb_ratio, theorems.bbkb_ratio, theorems.bpe_ratio])
def test_ratios_of_regret_grow_with_the_regret(ratio: object) -> None:
    """A regret large enough breaks every bound, so that the claims can be found wrong."""
    assert callable(ratio)
    once = ratio(RUN, SETTINGS)
    assert 0 < once < 1
    assert ratio({**RUN, "regret": 1e8 * RUN["regret"]}, SETTINGS) == pytest.approx(1e8 * once)
    assert 1e8 * once > 440


def test_batches_are_counted_against_proposition_1_or_the_row() -> None:
    assert theorems.excess_batches(RUN, {}) == 12 - (math.ceil(math.log2(math.log2(T))) + 1)
    assert theorems.excess_batches(RUN, {"n_batches": 12}) == 0


def test_the_suite_meets_the_conditions_of_the_theorems() -> None:
    suite, problem = load_suite(theorems.SUITE), theorems.task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    assert problem.noise_std == 1.0  # lam = 1, the least that BBKB's theorems allow and the noise variance
    greedy = greedy_information(problem.kernel, problem.arms, 1.0, suite.horizon).gain / (1 - 1 / math.e)
    apart = 0.5 * math.log(2) * np.arange(1, suite.horizon + 1)
    eta = float((np.minimum(greedy, apart) / np.log(np.arange(1, suite.horizon + 1) + 1)).max())
    for entry in suite.agents:
        kwargs, name = entry.ref.kwargs, entry.ref.label
        if entry.ref.id == "GP-BUCB":
            B = kwargs["batch_size"]  # the size of appendix B.3 in one dimension
            size = math.e * (math.log(eta) + 2 * math.log(B)) / (2 * math.log(B) - 1) * eta * (B - 1) * math.log(B)
            assert kwargs["t_init"] >= size > math.log(B)
            assert kwargs["c"] == pytest.approx(2 / math.e)
        if name.startswith("BBKB, Theorem"):
            factor = 8 if name.endswith("1") else 72 * kwargs["c"]
            assert kwargs["qbar"] >= factor * math.log(4 * suite.horizon / kwargs["delta"])
    assert len(theorems.CLAIMS) == 15
