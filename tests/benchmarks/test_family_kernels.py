"""Kernels of families: one rule, fitted on other members, in a file that one command makes again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks import family_kernels as kernels
from benchmarks.family_kernels import Fit, family_kernels, fit_kernel, suite_kernels
from gpbandit_envs import datasets
from gpbandit_envs.datasets import DataError
from gpbandit_envs.gp import Matern
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.suite import SuiteError, load_suite, parse_suite, suite_folder

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
