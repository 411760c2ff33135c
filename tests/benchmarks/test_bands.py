"""Studies that run on demand: a few of their runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import leaderboards
from agents.exact.gp_ucb import GPUCB
from benchmarks import family_kernels as kernels
from benchmarks.bands import CONTROLS, ROWS, Row, case, count
from benchmarks.family_kernels import Fit, family_kernels, fit_kernel, suite_kernels
from benchmarks.paths import STRATEGIES, Adversary, Paths, Policy, along
from gpbandit_envs import datasets
from gpbandit_envs.datasets import DataError
from gpbandit_envs.gp import Matern
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.suite import SuiteError, load_suite, parse_suite, suite_folder


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}, {row.pulls} pulls")
def test_what_is_guaranteed_holds(row: Row) -> None:
    """A row whose band fails as often as it may fails here with a probability of 1e-5."""
    found = count(row, 6)
    assert found.counted == 6 or (row.id, row.kwargs["width"]) == ("BKB", "theory")
    if found.counted:
        assert binomtest(found.violated, found.counted, found.delta, alternative="greater").pvalue > 1e-5
    assert found.exceeded == 0


@pytest.mark.parametrize("row", [row for row in CONTROLS if row.id == "GP-UCB" and row.noise == "gaussian"], ids=str)
def test_the_search_finds_bands_that_fail(row: Row) -> None:
    found = count(row, 40, claimed_alone=False)
    assert found.violated > 0
    assert count(row, 3).counted == 0, "none of them is called guaranteed"


def test_a_mean_has_the_norm_that_is_stated() -> None:
    for number in range(30):
        found = case(ROWS[0], np.random.default_rng(number))
        assert found.problem.kernel is not None
        assert found.problem.norm_bound is not None
        K = found.problem.kernel(found.arms, found.arms)
        # f = K w + e with a rounding e of at most 1e-12 of the largest mean, of which the inverse makes norm(e) / 1e-3.
        ridge = 1e-6 * float(K.diagonal().max())
        square = float(found.f @ np.linalg.solve(K + ridge * np.eye(len(K)), found.f))
        assert square <= found.problem.norm_bound**2 * (1 + 1e-6)


# ---- bands along the pulls of any player ----


ENV = ("GPBandit/RKHS-v0", {"n_arms": 30, "dim": 1, "norm": 1.0, "noise_std": 0.1, "lengthscale": 0.2})
R, T = 6, 12


def ucb(**settings: Any) -> list[Any]:
    return [("GP-UCB", {"delta": 0.1, **settings})]


def test_beside_its_own_policy_a_band_is_that_of_the_policy() -> None:
    """Fed with the pulls of its twin, or as the player itself, it is what `simulate` follows."""
    own = leaderboards.simulate(ENV, ucb(width="amm")[0], R, T, audit=True, progress=False)
    assert own.bands is not None
    found = along(ENV, Policy(ucb(width="amm")[0]), {"fed": ucb(width="amm"), "own": []}, R, T)
    for label in ("fed", "own"):
        np.testing.assert_allclose(found.bands[label].required, own.bands["required_scaling"], rtol=1e-9)
        assert found.bands[label].informative == pytest.approx(own.bands["informative"].mean())
        assert found.bands[label].why_not == ""
    assert (found.regret > 0).all()


def test_pieces_joined_are_the_whole() -> None:
    bands = {"DMM": ucb(width="dmm"), "best of two": [*ucb(width="amm", lam=0.01), *ucb(width="amm", lam=1.0)]}
    whole = along(ENV, Policy("GP-EI"), bands, R, T)
    parts = [along(ENV, Policy("GP-EI"), bands, 2, T, first=first) for first in (0, 2, 4)]
    joined = Paths.joined(parts)
    np.testing.assert_array_equal(joined.regret, whole.regret)
    for label, one in whole.bands.items():
        np.testing.assert_allclose(joined.bands[label].required, one.required, rtol=1e-12)
        assert joined.bands[label].half_width == pytest.approx(one.half_width)
    # An intersection is never wider than its parts.
    single = along(ENV, Policy("GP-EI"), {"one": bands["best of two"][:1]}, R, T).bands["one"]
    assert whole.bands["best of two"].half_width <= single.half_width


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_adversary_knows_the_means_and_past_noise_alone(strategy: Any) -> None:
    """What it pulls first does not change with noise that is still to come."""
    pulls = []
    for T_ in (6, 12):
        seen: list[np.ndarray] = []

        class Watched(Adversary):
            def pull(self, beside: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
                seen.append(super().pull(beside))  # noqa: B023 - of this round
                return seen[-1]  # noqa: B023

        along((ENV[0], {**ENV[1], "horizon": 12}), Watched("AMM", strategy), {"AMM": ucb(width="amm")}, R, T_)
        pulls.append(np.stack(seen[:6]))
    np.testing.assert_array_equal(pulls[0], pulls[1])


def test_a_false_band_is_refuted_and_a_proven_one_is_not_and_has_little_to_spare() -> None:
    """All of the norm is in one bump, so that a prior band is as high as the mean."""
    env = ("GPBandit/RKHS-v0", {**ENV[1], "norm": 5.0, "lengthscale": 0.1, "n_centres": 1})
    bands = {"proven": ucb(width="dmm"), "false": ucb(width="amm", norm_bound={"times": 1 / 3})}
    for player in (Policy("Uniform"), Adversary("proven", "edge")):
        found = along(env, player, bands, 40, T).bands
        assert found["proven"].held.mean() >= 0.9
        assert np.quantile(found["proven"].required, 0.9) > 0.9
        assert "below the problem's" in found["false"].why_not
    assert along(env, Policy("Uniform"), bands, 40, T).bands["false"].held.mean() <= 0.5


def test_whoever_chooses_by_something_else_and_states_a_proven_band_is_said_to_keep_it() -> None:
    """Six lines: a rule of choice, and the band of another policy; the study reads that band along that rule."""

    class Stated(GPUCB):
        side_by_side = True

    for rule in ("GP-EI", ucb(width=1.0)[0]):
        stated = along(ENV, Policy(rule), {"DMM": [Stated(width="dmm", delta=0.1)]}, R, T).bands["DMM"]
        known = along(ENV, Policy(rule), {"DMM": ucb(width="dmm")}, R, T).bands["DMM"]
        np.testing.assert_allclose(stated.required, known.required)
        assert stated.why_not == ""


# ---- kernels of families: one rule, fitted on other members, in a file that one command makes again ----


LENGTHSCALES = (0.3, 2.0)


def draws(n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Donors that are samples of one GP of variance 1, with a noise of standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    donors = []
    for _ in range(n):
        X = rng.random((149, 2))
        K = Matern(LENGTHSCALES, nu=2.5)(X, X)
        z = rng.standard_normal((2, len(X)))
        donors.append((X, np.linalg.cholesky(K + 1e-9 * np.eye(len(X))) @ z[0] + 0.1 * z[1]))
    return donors


def test_the_rule_tells_a_short_lengthscale_from_a_long_one() -> None:
    found = fit_kernel(draws(4, seed=1))
    short, long = found.lengthscales
    # Clipping at the lower quartile leaves lengthscales within a factor of two of those of the draws.
    assert LENGTHSCALES[0] / 2 < short < 2 * LENGTHSCALES[0]
    assert long > 3 * short
    assert found.nugget < 0.1


def test_how_bad_the_bad_arms_are_does_not_matter() -> None:
    donors = draws(2, seed=2)  # whose lower quartiles are values of theirs, as 149 - 1 is a multiple of four
    worse = [(X, np.where(y < np.quantile(y, 0.25), y - 1e3, y)) for X, y in donors]
    assert fit_kernel(worse) == fit_kernel(donors)


def test_settings_have_six_digits_and_a_noise_only_where_none_is_stated() -> None:
    found = fit_kernel(draws(1, seed=3), rows=40)
    settings = found.settings(with_noise=True)
    assert settings["noise_std"] >= 0.01
    assert "noise_std" not in found.settings(with_noise=False)
    for number in (*settings["kernel"]["lengthscale"], settings["kernel"]["variance"], *settings["values"].values()):
        assert float(f"{number:.6g}") == number


def test_what_cannot_be_fitted_is_named() -> None:
    with pytest.raises(ValueError, match=r"donors.*at least one"):
        fit_kernel([])
    with pytest.raises(ValueError, match=r"donors.*differ.*3"):
        fit_kernel([(np.zeros((4, 1)), np.full(4, 3.0))])
    agents = ["Uniform"]
    plain: dict[str, Any] = {"name": "s", "horizon": 5, "repetitions": 1, "agents": agents}
    with pytest.raises(SuiteError, match=r"'s'.*members"):
        suite_kernels(parse_suite(plain | {"environments": ["GPBandit/RKHS-v0"]}))
    drawn = {"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 20}, "members": {"dim": [1, 2]}}
    with pytest.raises(SuiteError, match=r"RKHS.*table"):
        suite_kernels(parse_suite(plain | {"environments": [drawn]}))


CORE = load_suite("core-v2", kernels=False)
FAMILIES = [entry for entry in CORE.environments if entry.members]


@pytest.mark.slow
@pytest.mark.parametrize("label", [entry.ref.label for entry in FAMILIES])
def test_the_file_of_core_v2_is_made_again(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One member of each family is fitted again, which takes minutes for all of some; the command does all.

    Four digits on any processor: the optimiser ends where the slope is below 1e-6 of a unit of log density.
    """
    there = json.loads((suite_folder("core-v2") / "core-v2-kernels.json").read_text())["families"][label]
    entry = next(entry for entry in FAMILIES if entry.ref.label == label)
    data: Any = next(row.data for row in ENVIRONMENTS if row.id == entry.id)
    assert there["data"] == dict(datasets.cards()[data].sha256)
    fits: list[Fit] = []

    def one_fit(*donors: Any) -> Fit:
        fits.append(fits[0] if fits else fit_kernel(*donors))
        return fits[-1]

    monkeypatch.setattr(kernels, "fit_kernel", one_fit)
    try:
        with one_blas_thread():
            again = family_kernels(entry)
    except DataError as error:
        pytest.skip(f"the data of {label} cannot be had: {error.args[0].splitlines()[0]}")
    assert again["members"].keys() == there["members"].keys()
    assert len(fits) == len(there["members"])
    member = next(iter(again["members"]))
    settings, stated = again["members"][member], there["members"][member]
    assert settings.keys() == stated.keys()
    assert settings["values"] == pytest.approx(stated["values"], rel=1e-4)
    assert settings["kernel"].keys() == stated["kernel"].keys()
    for name, value in settings["kernel"].items():
        assert value == (stated["kernel"][name] if name == "name" else pytest.approx(stated["kernel"][name], rel=1e-4))
    if "noise_std" in stated:
        assert settings["noise_std"] == pytest.approx(stated["noise_std"], rel=1e-4)


def test_every_member_of_core_v2_states_what_it_was_fitted_on() -> None:
    families = json.loads((suite_folder("core-v2") / "core-v2-kernels.json").read_text())["families"]
    for entry in FAMILIES:
        ((_, values),) = entry.members.items()
        told = families[entry.ref.label]["fitted_on"]
        for value in values:
            others = [str(other) for other in values if other != value]
            assert told[str(value)]["donors"] == (others or "rows set apart")
