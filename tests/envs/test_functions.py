"""Mean functions: norms, moments, and optima that nothing beats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.stats import qmc

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.functions.base import BoxFunction, even_arms, lattice
from gpbandit_envs.functions.closed_forms import FORMULAS, H1_FORMS, ClosedForm, deceptive
from gpbandit_envs.functions.gp_draws import GPSampleArms, GPSampleBox
from gpbandit_envs.functions.interpolated import InterpolatedArms
from gpbandit_envs.functions.maximum import _climb, certify_smooth
from gpbandit_envs.functions.needle import NeedleArms, NeedleShape, log_spectral_density
from gpbandit_envs.functions.rkhs import (
    BPE_F1,
    BPE_F2,
    BPE_F2_SIDE,
    Expansion,
    FixedExpansion,
    RKHSArms,
    RKHSBox,
    draw_expansion,
)
from gpbandit_envs.gp import SE, Linear, Matern, RationalQuadratic
from gpbandit_envs.gp.features import draw_fourier_sample

BOXES = {
    **{name: ClosedForm(formula) for name, formula in FORMULAS.items()},
    "h1, 1 outside": ClosedForm(H1_FORMS["outside"]),
    "h1, 1 outside, side 200": ClosedForm(replace(H1_FORMS["outside"], low=(-100.0,) * 2, high=(100.0,) * 2)),
    **{f"deceptive{dim}": ClosedForm(deceptive(dim)) for dim in (1, 2, 5)},
    "bpe_f1": FixedExpansion(BPE_F1),
    "bpe_f2": FixedExpansion(BPE_F2, BPE_F2_SIDE),
    "rkhs se 1": RKHSBox(SE(0.1), 1, 1.0, 32),
    "rkhs se 2": RKHSBox(SE((0.2, 0.4)), 2, 3.0, 32),
    "rkhs matern 3": RKHSBox(2.0 * Matern(0.4, 2.5), 3, 1.0, 16),
    "gp se 1": GPSampleBox(SE(0.2), 1, 256),
    "gp matern 2": GPSampleBox(Matern(0.5, 2.5), 2, 128),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOXES)
def test_nothing_beats_the_certified_optimum(name: str) -> None:
    """Thousands of Sobol points and local searches from the best of them."""
    family = BOXES[name]
    function = family.draw(np.random.default_rng(7))
    certificate = function.certificate
    points = qmc.Sobol(family.dim, rng=np.random.default_rng(1)).random_base2(13)
    values = function.evaluate(points)
    best = values.max()
    starts = [*points[np.argsort(-values)[:10]], np.array(certificate.optimal_action)]
    for start in starts:
        best = max(best, polished(function, start))
    assert best <= certificate.optimum + certificate.optimum_tol + 1e-12
    assert certificate.optimum_tol <= 1e-8
    attained = function.evaluate(np.array([certificate.optimal_action]))[0]
    assert certificate.optimum - attained <= max(certificate.optimum_tol, 1e-12)


def polished(function: BoxFunction, start: np.ndarray) -> float:
    def loss(x: np.ndarray) -> float:
        return -float(function.evaluate(np.clip(x, 0, 1)[None])[0])

    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 1_500})
    return -float(found.fun)


def test_formulas_at_published_points() -> None:
    def at(name: str, *x: float) -> float:
        return float(FORMULAS[name].evaluate(np.array([x]))[0])

    assert at("branin", np.pi, 2.275) == pytest.approx(-0.397887, abs=1e-6)
    assert at("branin", -np.pi, 12.275) == pytest.approx(-0.397887, abs=1e-6)
    assert at("branin", 9.42478, 2.475) == pytest.approx(-0.397887, abs=1e-6)
    assert at("cosines", 0.3125, 0.3125) == pytest.approx(1.6)
    assert at("rosenbrock", 1.0, 1.0) == 10.0
    assert at("hartmann3", 0.114614, 0.555649, 0.852547) == pytest.approx(3.86278, abs=1e-5)
    six = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
    assert at("hartmann6", *six) == pytest.approx(3.32237, abs=1e-5)
    assert at("h1", 8.6998, 6.7665) == pytest.approx(2.0, abs=1e-4)
    assert float(deceptive(2).evaluate(np.array([[1 / 3, 2 / 3]]))[0]) == pytest.approx(1.0)


def test_both_forms_of_h1_at_a_point_worked_out_by_hand() -> None:
    """At (8.6998 + 3, 6.7665 + 4) the distance to the peak is 5."""
    x, y = 11.6998, 10.7665
    ripples = np.sin(x - y / 8) ** 2 + np.sin(y + x / 8) ** 2
    for form, below in (("inside", np.sqrt(26.0)), ("outside", 6.0)):
        env = gym.make("GPBandit/H1-v0", form=form, half_side=20.0, noise_std=0.0)
        env.reset(seed=0)
        action = np.array([(x + 20) / 40, (y + 20) / 40])
        assert env.unwrapped.mean(action[None])[0] == pytest.approx(ripples / below, rel=1e-9)  # type: ignore[attr-defined]
        found = env.unwrapped.certificate  # type: ignore[attr-defined]
        assert np.array(found.optimal_action) * 40 - 20 == pytest.approx([8.6998, 6.7665], abs=1e-4)
        assert found.optimum == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"form": "both"}, "form: expected 'inside' or 'outside', got 'both'"),
        ({"half_side": 8.0}, "half_side: expected a finite number >= 10, got 8.0"),
    ],
)
def test_h1_names_what_it_cannot_be(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make("GPBandit/H1-v0", **kwargs)


def test_deceptive_is_continuous_and_deceives() -> None:
    x = np.linspace(0, 1, 100_001)[:, None]
    values = deceptive(1).evaluate(x)
    assert np.abs(np.diff(values)).max() < 3e-4
    assert values[0] == pytest.approx(0.64)
    assert values[-1] == pytest.approx(0.64)
    assert (values < 0.64).mean() > 0.9


@pytest.mark.parametrize("kernel", [SE(0.1), SE(5.0), Matern(0.3, 0.5), RationalQuadratic(0.2, 1.0)], ids=str)
@pytest.mark.parametrize("norm", [0.5, 4.0])
def test_rkhs_norm_is_exact(kernel: Any, norm: float) -> None:
    function = draw_expansion(kernel, 2, 24, norm, np.random.default_rng(0))
    a, K = function.coefficients, kernel(function.centres, function.centres)
    assert np.sqrt(a @ K @ a) == pytest.approx(norm, rel=1e-9)
    # The norm is the supremum of f(x) / sqrt(k(x, x)) and of every interpolant's norm.
    X = np.random.default_rng(1).random((40, 2))
    f = function(X)
    assert np.abs(f).max() <= norm * (1 + 1e-9)
    interpolant = f @ np.linalg.lstsq(kernel(X, X), f, rcond=1e-10)[0]
    assert np.sqrt(interpolant) <= norm * (1 + 1e-6)


def test_expansion_in_blocks_equals_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    family = RKHSArms(SE(0.2), even_arms(1_000, 3), 1.0, 8)
    whole = family.draw(np.random.default_rng(0)).mean
    monkeypatch.setattr("gpbandit_envs.functions.rkhs._CHUNK", 64)
    np.testing.assert_allclose(family.draw(np.random.default_rng(0)).mean, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        draw_expansion(SE((0.3, 0.5)), 2, 8, 1.0, np.random.default_rng(0)),
        draw_expansion(3.0 * Matern(0.4, 2.5), 2, 8, 1.0, np.random.default_rng(0)),
        draw_fourier_sample(Matern(0.4, 1.5), 2, 32, np.random.default_rng(0)),
    ],
    ids=["se", "matern", "fourier"],
)
def test_gradient_and_curvature_bound(f: Any) -> None:
    rng = np.random.default_rng(3)
    for x in rng.random((20, 2)):
        assert check_grad(lambda z: f(z[None])[0], lambda z: f.gradient(z[None])[0], x) < 1e-6 * f.curvature_bound
        step = 1e-5
        H = np.array([(f.gradient((x + step * e)[None]) - f.gradient((x - step * e)[None]))[0] for e in np.eye(2)])
        assert np.linalg.norm(H / (2 * step), 2) <= f.curvature_bound * (1 + 1e-6)


def test_branch_and_bound_says_so_when_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    f = draw_expansion(SE(0.1), 3, 32, 1.0, np.random.default_rng(0))
    exact = certify_smooth(f, 3)
    monkeypatch.setattr("gpbandit_envs.functions.maximum._BUDGET", 5_000)
    rough = certify_smooth(f, 3)
    assert rough.optimum_tol > 1e-3 > exact.optimum_tol
    assert rough.optimum <= exact.optimum + exact.optimum_tol <= rough.optimum + rough.optimum_tol + 1e-8
    assert "optimum" not in exact.facts
    assert rough.facts["optimum"] == "best value found, not proven"


@pytest.mark.parametrize("dim", [4, 6, 20])
def test_what_cannot_be_proven_is_searched_well(dim: int) -> None:
    """No climb from elsewhere finds more: of 24 from other points on a sample, of those from all centres of an RKHS.

    A sample in 20 coordinates has too many maxima for that; there they may find a little more.
    """
    sample = draw_fourier_sample(SE(0.3), dim, 256, np.random.default_rng(dim))
    points = np.random.default_rng(9).random((4_000, dim))
    best = points[np.argsort(-sample(points))[:24]]
    expansion = draw_expansion(SE(0.4), dim, 16, 1.0, np.random.default_rng(dim))
    for f, starts in ((sample, best), (expansion, expansion.centres)):
        found = certify_smooth(f, dim, starts=starts if f is expansion else None)
        assert ("optimum" in found.facts) == (found.optimum_tol > 1e-6)
        assert ("optimum" in found.facts) or f is expansion
        assert found.optimum >= max(_climb(f, start)[0] for start in starts) - (1e-8 if dim < 20 else 0.2)
        assert f(np.array([found.optimal_action]))[0] == pytest.approx(found.optimum)


def test_thirty_coordinates_fit_into_memory() -> None:
    """Their 2^30 corners would not."""
    expansion = draw_expansion(SE(1.0), 30, 4, 1.0, np.random.default_rng(0))
    assert certify_smooth(expansion, 30, starts=expansion.centres).optimum > 0


@pytest.mark.parametrize("kernel", [SE(0.2), 2.0 * Matern(0.3, 2.5), Matern(0.3, 1.5)], ids=str)
@pytest.mark.parametrize("exact", [True, False])
def test_gp_samples_have_the_kernel_as_covariance(kernel: Any, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    arms = even_arms(6, 2)
    if not exact:
        monkeypatch.setattr("gpbandit_envs.functions.gp_draws.EXACT_LIMIT", 0)
    family = GPSampleArms(kernel, arms, n_features=32)
    rng = np.random.default_rng(0)
    n = 6_000
    F = np.array([family.draw(rng).mean for _ in range(n)])
    K = kernel(arms, arms)
    variance = np.sqrt(np.outer(np.diag(K), np.diag(K)) + K**2)
    # 32 features leave excess kurtosis of order 1 / 32: a tenth wider than the Gaussian standard error.
    assert (np.abs(F.T @ F / n - K) < 5 * 1.1 * variance / np.sqrt(n)).all()
    assert (np.abs(F.mean(axis=0)) < 5 * np.sqrt(np.diag(K) / n)).all()


def test_gp_sample_interpolant_norm() -> None:
    arms = even_arms(12, 2)
    kernel = Matern(0.3, 0.5)
    function = GPSampleArms(kernel, arms).draw(np.random.default_rng(0))
    expected = np.sqrt(function.mean @ np.linalg.solve(kernel(arms, arms), function.mean))
    assert function.certificate.facts["interpolant_norm"] == pytest.approx(expected)


@pytest.mark.parametrize("kernel", [SE(0.15), Matern(0.15, 2.5), Matern(0.15, 0.5)], ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_needle_has_the_norm_it_says(kernel: Any, dim: int) -> None:
    """The norm of the interpolant through the arms is at most the needle's, and near it once the arms are dense."""
    family = NeedleArms(kernel, even_arms(1_200, dim), height=0.5, norm=1.0)
    function = family.draw(np.random.default_rng(0))
    K = kernel(family.arms, family.arms)
    norm = np.sqrt(function.mean @ np.linalg.solve(K + 1e-9 * np.eye(len(K)), function.mean))
    assert norm <= 1.0 + 1e-6
    if dim < 3:
        assert norm > (0.8 if kernel == Matern(0.15, 0.5) and dim == 2 else 0.95)
    assert function.certificate.optimum == 0.5
    assert function.mean[int(function.certificate.optimal_action)] == 0.5  # type: ignore[arg-type]
    assert np.abs(function.mean).mean() < 0.2


def test_needles_get_narrower_as_the_norm_allows() -> None:
    for kernel in (SE(0.2), Matern(0.2, 1.5)):
        widths = [NeedleShape.narrowest(kernel, 1, 0.1, norm).width for norm in (1.0, 4.0, 16.0, 64.0)]
        assert (np.diff(widths) < 0).all()
    # Matern: width proportional to (h / F)^(1 / nu) once the band is far above 1 / l.
    widths = [NeedleShape.narrowest(Matern(0.2, 1.5), 1, 1e-3, norm).width for norm in (4.0, 32.0)]
    assert widths[1] / widths[0] == pytest.approx(8 ** (-1 / 1.5), rel=0.03)
    with pytest.raises(ValueError, match=r"has norm .* at least"):
        NeedleArms(SE(0.2), even_arms(10, 1), height=1.0, norm=0.9)


@pytest.mark.parametrize("kernel", [SE(0.7), Matern(0.7, 1.5), Matern(0.7, 2.5)], ids=str)
def test_spectral_density_is_the_kernels(kernel: Any) -> None:
    w = np.linspace(-400, 400, 800_001)
    density = np.exp(log_spectral_density(kernel, 1, np.abs(w)))
    for r in (0.0, 0.3, 1.1):
        back = float((density * np.cos(w * r)).sum() * (w[1] - w[0]) / (2 * np.pi))
        assert back == pytest.approx(float(kernel(np.zeros((1, 1)), np.full((1, 1), r))[0, 0]), abs=2e-5)


def test_arm_sets() -> None:
    np.testing.assert_array_equal(even_arms(5, 1)[:, 0], [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_array_equal(even_arms(7, 3), even_arms(100, 3)[:7])
    assert even_arms(1, 1).tolist() == [[0.5]]
    grid = lattice(50, 2)
    assert grid.shape == (2_500, 2)
    assert len(np.unique(grid, axis=0)) == 2_500
    for n_arms, dim, error in ((0, 1, ValueError), (3, 0, ValueError), (2.5, 1, TypeError), (True, 1, TypeError)):
        with pytest.raises(error, match=r"n_arms|dim"):
            even_arms(n_arms, dim)  # type: ignore[arg-type]


def test_bpe_functions_have_their_shapes() -> None:
    def peaks(f: Expansion) -> list[float]:
        v = f(lattice(50, 2)).reshape(50, 50)
        padded = np.pad(v, 1, constant_values=-np.inf)
        around = np.max([padded[i : i + 50, j : j + 50] for i in range(3) for j in range(3)], axis=0)
        return sorted(v[v == around].tolist(), reverse=True)

    assert len(peaks(BPE_F1)) == 1
    several = peaks(BPE_F2)
    assert len(several) == 4
    assert several[0] - several[-1] < 0.03
    edges = BPE_F2(lattice(50, 2)).reshape(50, 50)[[0, -1]]
    assert edges.max() < several[-1] - 0.03  # the maxima are in the interior
    assert FixedExpansion(BPE_F2, BPE_F2_SIDE).high.tolist() == [2.0, 2.0]
    np.testing.assert_allclose(lattice(50, 2)[np.argmax(BPE_F1(lattice(50, 2)))], [0.76, 0.24], atol=0.011)
    assert BPE_F1.norm == pytest.approx(np.sqrt(2))
    assert BPE_F2.norm == pytest.approx(np.sqrt(6))


@pytest.mark.parametrize(("name", "norm"), [("BPEF1-v0", np.sqrt(2)), ("BPEF2-v1", np.sqrt(6)), ("Branin-v0", None)])
def test_the_norm_is_the_same_on_the_grid_and_on_the_box(name: str, norm: float | None) -> None:
    for grid in (50, 7, None):
        env = gym.make(f"GPBandit/{name}", grid=grid)
        env.reset(seed=0)
        assert env.unwrapped.certificate.norm == (None if norm is None else pytest.approx(norm, rel=1e-12))  # type: ignore[attr-defined]
    if norm is not None:
        # What the arms alone imply is no more; the jitter only makes it smaller.
        arms, function = lattice(7, 2), {"BPEF1-v0": BPE_F1, "BPEF2-v1": BPE_F2}[name]
        f, K = function(arms), function.kernel(arms, arms)
        implied = np.sqrt(f @ np.linalg.solve(K + 1e-10 * np.eye(49), f))
        assert 0.9 * norm < implied <= norm


def test_bpe_samples_are_those_of_the_regressor_that_the_authors_use() -> None:
    """Lengthscale and values of scikit-learn's regressor with its defaults, in the units of their domain."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    points, arms = 10 * lattice(5, 2) - 5, 10 * lattice(50, 2) - 5
    lengths = []
    for seed in range(12):
        function = InterpolatedArms(SE(0.05), lattice(50, 2), 5, 10.0).draw(np.random.default_rng(seed))
        y = np.random.default_rng(seed).standard_normal(25)
        y = np.linalg.cholesky(SE(0.5)(points, points)) @ y
        theirs = GaussianProcessRegressor(kernel=RBF(0.5), random_state=0).fit(points, y)
        length = float(function.certificate.facts["fitted_lengthscale"])  # type: ignore[arg-type]
        assert 10 * length == pytest.approx(theirs.kernel_.length_scale, rel=1e-4)
        np.testing.assert_allclose(function.mean, theirs.predict(arms), atol=1e-3)
        lengths.append(10 * length)
    assert min(lengths) < 0.6, "where neighbours have nothing in common the search ends where it began"
    assert max(lengths) > 1.0, "where they have, far from it"


def test_a_million_arms() -> None:
    env = gym.make("GPBandit/RKHS-v0", n_arms=1_000_000, dim=2)
    env.reset(seed=0)
    _, _, _, _, info = env.step(999_999)
    assert info["oracle"]["regret"] >= 0


def test_errors() -> None:
    with pytest.raises(ValueError, match="norm"):
        RKHSArms(SE(0.2), even_arms(10, 1), -1.0, 8)
    with pytest.raises(TypeError, match="kernel"):
        RKHSBox(Matern(0.2, 0.5), 1, 1.0, 8)
    with pytest.raises(TypeError, match="kernel"):
        GPSampleBox(Linear(), 1)
    with pytest.raises(TypeError, match="kernel"):
        NeedleArms(SE((0.2, 0.3)), even_arms(4, 2), 0.5, 1.0)


@pytest.mark.parametrize("norm", [None, "1", True, 0.0, -1.0, np.inf])
def test_a_wrong_norm_is_named(norm: Any) -> None:
    for name in ("RKHS", "Needle"):
        with pytest.raises((TypeError, ValueError), match="norm: expected a finite number > 0, got"):
            gym.make(f"GPBandit/{name}-v0", norm=norm)
    with pytest.raises((TypeError, ValueError), match="norm: expected a finite number > 0, got"):
        gym.make("GPBandit/RKHS-v0", n_arms=None, norm=norm)
