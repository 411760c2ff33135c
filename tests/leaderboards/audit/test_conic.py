"""CMM against its dual, and in audits: skipped where CVXPY is not installed (extra `conic`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents.core.gp_settings import WidthContext
from agents.exact.dual_mixture import DualArms, DualMixture, Evidence, intersection
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernels import Kernel
from leaderboards.audit.conic import conic_band, require_cvxpy
from leaderboards.audit.run_audit import audit_run
from leaderboards.cli import main
from leaderboards.play.spec import Ref, RunSpec

LAM, XI, F, DELTA = 0.01, 0.1, 1.5, 0.05
ENV = Ref("GPBandit/RKHS-v0", {"n_arms": 40, "dim": 1, "norm": 2.0})


def run_of(**kwargs: object) -> RunSpec:
    return RunSpec(env=ENV, agent=Ref("GP-UCB", kwargs), repetition=0, horizon=30, seed=1)


def test_without_cvxpy_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r'CVXPY is not installed: pip install "gpbandit-envs\[conic\]"'):
        conic_band(
            SE(), np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), lam=1.0, noise_std=1.0, norm_bound=1.0, delta=0.1
        )
    with pytest.raises(SystemExit) as end:
        main(["audit", str(tmp_path), "--conic", "3"])
    assert end.value.code == 2
    assert "CVXPY is not installed" in capsys.readouterr().err


def test_an_audit_without_it_needs_no_cvxpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    assert audit_run(run_of(), checkpoints=3).facts.over_conic is None
    with pytest.raises(ImportError):
        require_cvxpy()


@pytest.fixture
def solver() -> None:
    pytest.importorskip("cvxpy", reason="CVXPY (extra conic) is not installed")


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("kernel", [SE(0.2), Matern(0.4)], ids=repr)
@pytest.mark.parametrize("n", [1, 40])
def test_it_is_the_best_dual_bound(kernel: Kernel, n: int) -> None:
    """Strong duality: CMM is DMM on a grid of all regularisers."""
    rng = np.random.default_rng(0)
    X, C, w = rng.random((25, 2)), rng.random((9, 2)), rng.standard_normal(9)
    f = kernel(X, C) @ w * (F / np.sqrt(w @ kernel(C, C) @ w))
    arms = rng.integers(12, size=n)
    y = f[arms] + XI * rng.standard_normal(n)
    found = conic_band(kernel, X[arms], y, X, lam=LAM, noise_std=XI, norm_bound=F, delta=DELTA)
    assert found is not None
    band = DualMixture(tuple(np.geomspace(1e-3, 1e5, 400).tolist()))
    dual = DualArms(ExactPosterior(kernel, X, LAM), band.grid)
    for arm, value in zip(arms.tolist(), y.tolist()):
        for posterior in dual.posteriors:
            posterior.update_one(arm, value)
    gain = dual.posteriors[0].information_gain
    context = WidthContext(t=n + 1, n_arms=25, lam=LAM, noise_std=XI, norm_bound=F, delta=DELTA, information_gain=gain)
    dual_band = band.band(context, Evidence(dual.misfits()), ())
    lower, upper = intersection(((p.mean, p.variance) for p in dual.posteriors), dual_band)
    np.testing.assert_allclose(found[1], upper, atol=2e-4)
    np.testing.assert_allclose(found[0], lower, atol=2e-4)
    assert (found[1] <= upper + 1e-6).all()
    assert (found[0] >= lower - 1e-6).all()


@pytest.mark.usefixtures("solver")
def test_no_function_of_too_small_a_norm_explains_the_data() -> None:
    X = np.array([[0.0], [1.0]])
    y = np.array([5.0, -5.0])
    assert conic_band(SE(0.2), X, y, X, lam=LAM, noise_std=XI, norm_bound=0.1, delta=DELTA) is None


@pytest.mark.usefixtures("solver")
def test_audits_tell_how_far_a_band_is_from_the_tightest() -> None:
    over = {}
    for width in ("theory", "amm", "dmm"):
        facts = audit_run(run_of(width=width), checkpoints=3, conic=5).facts
        assert facts.over_conic is not None
        assert not facts.refuted
        over[width] = facts.over_conic
    assert 1 - 1e-4 <= over["dmm"] < over["amm"] < over["theory"]


@pytest.mark.usefixtures("solver")
def test_a_norm_that_is_too_small_is_refuted_for_any_width() -> None:
    facts = audit_run(run_of(width="theory", norm_bound=0.01), checkpoints=3, conic=3).facts
    assert facts.refuted
    assert facts.over_conic is None
