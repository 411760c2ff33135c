from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import leaderboards
from gpbandit_envs import problem_of
from leaderboards.play.spec import Ref
from leaderboards.play.store import Store
from leaderboards.score.overlay import overlay
from leaderboards.score.summary import summarise
from leaderboards.score.theory import greedy_information
from tests.leaderboards.folders import folder, record

BATCHED = (("GP-BUCB", {"batch_size": 3}), "GP-AUCB")
ENV = ("GPBandit/RKHS-v0", {"n_arms": 60, "dim": 1, "lengthscale": 0.2})


def test_real_runs_stay_below_what_was_proven_and_learn_no_more_than_there_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for agent in ("Uniform", ("GP-UCB", {"width": "theory"}), ("BBKB", {"width": "theory"}), "BPE", *BATCHED):
        for repetition in range(2):
            store.write(leaderboards.run(ENV, agent, repetition, 80))
    found = overlay(summarise(store), "RKHS")
    assert found is not None
    assert found.t == 80
    promises = {promise.agent: promise for promise in found.promises}
    assert promises["Uniform"].bound is None
    assert promises["Uniform"].proven is None
    most = found.greedy.gain[-1] / (1 - 1 / math.e)
    for name in ("GP-UCB", "BBKB", "BPE", "GP-BUCB", "GP-AUCB"):
        promise = promises[name]
        assert promise.bound is not None
        assert promise.measured.estimate < promise.bound
        assert promise.proven == 0.5
        assert promise.gain is not None
        assert promise.d_eff is not None
        if name in ("GP-UCB", "GP-BUCB", "GP-AUCB"):
            assert 0 < promise.gain <= most
            assert promise.d_eff <= 2 * promise.gain + 1e-9, "d_eff is at most logdet"
    sequential = promises["GP-UCB"].bound or 0.0
    assert promises["GP-AUCB"].bound == pytest.approx(2 * sequential), "its threshold is 2"
    assert (promises["GP-BUCB"].bound or 0.0) > sequential
    assert promises["GP-BUCB"].theorem == "Desautels et al. (2012), Theorem 1"


def test_a_draw_from_the_prior_has_the_bayesian_bounds_and_a_wrong_kernel_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kwargs = {"n_arms": 50, "dim": 1}
    wrong = {**kwargs, "misspecification": {"lengthscale": 2.0}}
    for agent in (("GP-UCB", {"width": "bayes"}), ("GP-BUCB", {"width": "bayes", "batch_size": 1}), "BBKB"):
        store.write(leaderboards.run(("GPBandit/GPSample-v0", kwargs), agent, 0, 60))
        store.write(leaderboards.run(("GPBandit/GPSample-v0", wrong), agent, 0, 60))
    summary = summarise(store)
    overlays = {task.knowledge: overlay(summary, name) for name, task in summary.tasks.items()}
    assert overlays.keys() == {"oracle", "misspecified"}
    true, other = overlays["oracle"], overlays["misspecified"]
    assert true is not None
    assert other is not None
    bounds = {promise.agent: promise for promise in true.promises}
    assert bounds["GP-UCB"].theorem == "Srinivas et al. (2010), Theorem 1"
    assert bounds["GP-UCB"].bound == pytest.approx(bounds["GP-BUCB"].bound), "a batch of one is sequential"
    assert bounds["GP-UCB"].measured.estimate < (bounds["GP-UCB"].bound or 0.0)
    assert bounds["BBKB"].bound is None
    assert all(promise.bound is None for promise in other.promises)


def test_the_greedy_gain_is_that_of_the_instance_of_the_first_repetition(tmp_path: Path) -> None:
    store = folder(tmp_path, [Ref(ENV[0], ENV[1])], [Ref("GP-UCB")], 2, T=1500)
    found = overlay(summarise(store), "RKHS")
    assert found is not None
    assert 900 < found.t <= 1000
    from leaderboards.play.build import make_env

    problem = problem_of(make_env(ENV, 1500))
    assert problem.kernel is not None
    assert problem.arms is not None
    assert problem.noise_std is not None
    expected = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, found.t)
    np.testing.assert_allclose(found.greedy.gain, expected.gain)
    cell = summarise(store).cells["RKHS", "GP-UCB"]
    at = int(np.searchsorted(cell.t, found.t))
    assert found.promises[0].measured.estimate == pytest.approx(cell.curves["cumulative_regret"][:, at].mean())


def test_what_theory_does_not_reach_has_no_overlay_and_what_cannot_be_built_says_why(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("object:thing", label="thing"), Ref("GP-UCB"), 0))
    store.write(record(Ref("GPBandit/Gone-v0"), Ref("GP-UCB"), 0))
    summary = summarise(store)
    assert overlay(summary, "thing") is None
    with pytest.raises(ValueError, match="Gone-v0"):
        overlay(summary, "Gone")
