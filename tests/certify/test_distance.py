"""The distance to the ball: against another solver, its shape, and certificates that anybody can check."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import agents
import gpbandit_envs
from agents.core.guarantees import guarantee_status
from gpbandit_envs import certify as package
from gpbandit_envs.certify import DistanceCertificate, certify, distances, find, table_hash
from gpbandit_envs.gp import Matern

NORMS = (0.2, 0.5, 1.0, 2.0, 4.0)


def table_of(seed: int, n_arms: int = 60) -> tuple[Matern, np.ndarray, np.ndarray]:
    """A kernel, arms, and rough values."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 2))
    return Matern(0.4, 1.5), X, np.sin(4 * X[:, 0]) + 0.4 * rng.standard_normal(n_arms)


def by_another_solver(K: np.ndarray, f: np.ndarray, norm: float) -> float:
    """The primal: `min eps` with `|f - L v| <= eps` and `|v| <= norm`, `L` a root of K; by sequential programming."""
    n, L = len(f), np.linalg.cholesky(K + 1e-12 * np.eye(len(f)))
    start = np.append(np.zeros(n), np.abs(f).max())
    ones = np.ones((n, 1))
    inside = {"type": "ineq", "fun": lambda z: norm**2 - z[:n] @ z[:n], "jac": lambda z: np.append(-2 * z[:n], 0.0)}
    above = {"type": "ineq", "fun": lambda z: z[n] - f + L @ z[:n], "jac": lambda _: np.hstack([L, ones])}
    below = {"type": "ineq", "fun": lambda z: z[n] + f - L @ z[:n], "jac": lambda _: np.hstack([-L, ones])}
    found = minimize(
        lambda z: z[n],
        start,
        jac=lambda _: np.append(np.zeros(n), 1.0),
        constraints=[inside, above, below],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return float(found.x[n])


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_another_solver_finds(seed: int) -> None:
    kernel, X, f = table_of(seed)
    found = distances(kernel, X, f, NORMS)
    for point in found:
        assert 0 <= point.lower <= point.upper <= point.lower + 1e-6
        assert by_another_solver(kernel(X, X), f, point.norm) == pytest.approx(point.upper, abs=1e-6)


def test_it_falls_in_the_norm_and_is_convex() -> None:
    kernel, X, f = table_of(7)
    norms = np.linspace(0.2, 8, 30)
    upper = np.array([point.upper for point in distances(kernel, X, f, norms.tolist())])
    assert (np.diff(upper) < 1e-7).all()
    assert (np.diff(upper, 2) > -1e-6).all()


def test_it_is_zero_at_the_norm_of_the_interpolant() -> None:
    kernel, X, f = table_of(3, n_arms=30)
    norm = float(np.sqrt(f @ np.linalg.solve(kernel(X, X), f)))
    below, at = distances(kernel, X, f, [0.9 * norm, 1.0001 * norm])
    assert at.upper <= 1e-6
    assert below.lower > 1e-4


@pytest.mark.parametrize("sup", [0.0, 0.1])
def test_functions_of_the_ball_and_near_it(sup: float) -> None:
    env = gym.make("GPBandit/RKHS-v0", n_arms=200, norm=2.0, instance_seed=4, misspecification={"sup": sup})
    env.reset(seed=0)
    plain: Any = env.unwrapped
    found = distances(plain.problem.kernel, plain.problem.arms, plain.mean(np.arange(200)), [2.0])[0]
    assert found.upper <= sup + 1e-6


def test_the_exchange_agrees_with_the_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, X, f = table_of(1, n_arms=900)
    whole = distances(kernel, X, f, NORMS)
    monkeypatch.setattr("gpbandit_envs.certify.distance._WHOLE", 10)
    for one, other in zip(whole, distances(kernel, X, f, NORMS, gap=0.01), strict=True):
        assert other.lower <= one.upper + 1e-9
        assert one.lower <= other.upper + 1e-9
        assert other.upper - other.lower <= 0.01 * other.upper + 1e-6


def test_equal_extremes_do_not_stop_the_path() -> None:
    kernel, X, f = table_of(2)
    f[3], f[9] = f.max() + 1, -f.max() - 2
    f[9] = -f[3]
    found = distances(kernel, X, f, [1.0])[0]
    assert found.upper - found.lower <= 1e-6
    assert found.upper < f[3] - 0.1


def made() -> tuple[DistanceCertificate, np.ndarray, np.ndarray]:
    kernel, X, f = table_of(5)
    return certify(kernel, X, f, norms=NORMS), X, f


class TestCertificate:
    def test_it_survives_its_json_and_is_proven_again(self) -> None:
        certificate, X, f = made()
        again = DistanceCertificate.from_json(certificate.to_json())
        again.check(X, f)
        assert again.to_json() == certificate.to_json()
        for pair, point in zip(again.approximations, again.curve, strict=True):
            assert point.upper <= pair.distance <= 1.01 * point.upper

    def test_a_changed_weight_is_refused(self) -> None:
        certificate, X, f = made()
        data = json.loads(certificate.to_json())
        data["curve"][2]["weights"][0] *= 1.001
        with pytest.raises(ValueError, match=r"(lower|upper): expected the bound that the weights prove at norm 1"):
            DistanceCertificate.from_json(json.dumps(data)).check(X, f)

    @pytest.mark.parametrize("bound", ["lower", "upper"])
    def test_a_changed_bound_is_refused(self, bound: str) -> None:
        certificate, X, f = made()
        point, wrong = certificate.curve[1], certificate.curve[1].lower - 0.01
        point = replace(point, lower=wrong) if bound == "lower" else replace(point, upper=wrong)
        changed = replace(certificate, curve=(certificate.curve[0], point, *certificate.curve[2:]))
        with pytest.raises(ValueError, match=f"{bound}: expected the bound"):
            changed.check(X, f)

    def test_another_table_is_refused(self) -> None:
        certificate, X, f = made()
        f[7] += 1e-6
        with pytest.raises(ValueError, match="table: expected the hash"):
            certificate.check(X, f)

    def test_other_text_is_refused(self) -> None:
        with pytest.raises(ValueError, match="expected a certificate of distances"):
            DistanceCertificate.from_json("{}")
        with pytest.raises(ValueError, match="format: expected 1"):
            DistanceCertificate.from_json('{"format": 2}')

    def test_ten_lines_of_numpy_check_it(self, tmp_path: Path) -> None:
        """As in docs/guides/certified.md; the kernel there is written out."""
        certificate, X, f = made()
        path = tmp_path / "certificate.json"
        path.write_text(certificate.to_json())
        stated = json.loads(path.read_text())
        distance = np.sqrt(3) * np.linalg.norm(X[:, None] - X, axis=2) / 0.4
        K = (1 + distance) * np.exp(-distance)
        for point in stated["curve"]:
            S, mu = point["arms"], np.array(point["weights"])
            norm = np.sqrt(mu @ K[np.ix_(S, S)] @ mu)
            lower = (mu @ (f - stated["prior_mean"])[S] - point["norm"] * norm) / np.abs(mu).sum()
            upper = np.abs(f - stated["prior_mean"] - K[:, S] @ mu * min(1, point["norm"] / norm)).max()
            np.testing.assert_allclose([max(lower, 0), upper], [point["lower"], point["upper"]], atol=1e-7)


FRAME = pd.DataFrame({"x": np.linspace(0, 1, 25), "y": np.sin(9 * np.linspace(0, 1, 25))})


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path))
    return tmp_path / "certificates"


class TestEnvironment:
    def test_a_table_of_one_s_own_is_certified_and_kept(self, own_folder: Path) -> None:
        env = gpbandit_envs.from_table(FRAME, "y", noise_std=0.1, certify=(0.5, 1.0), name="waves")
        problem = env.unwrapped.problem  # type: ignore[attr-defined]
        assert problem.knowledge == "certified"
        assert [pair.norm for pair in problem.approximations] == [0.5, 1.0]
        means = env.unwrapped.mean(np.arange(25)) if env.reset(seed=0) else None  # type: ignore[attr-defined]
        assert problem.prior_mean == round(float(np.mean(means)), 2)
        assert len(list(own_folder.iterdir())) == 1
        kept: Any = find(table_hash(problem.arms, means), problem.kernel.to_spec())
        assert kept.approximations == problem.approximations
        agent = agents.make("GP-UCB", width="dmm-slack")
        agent.reset(problem, np.random.default_rng(0))
        assert guarantee_status(agent.band_guarantee(), problem) == ""

    def test_without_a_certificate_there_is_none_to_state(self, own_folder: Path) -> None:
        gpbandit_envs.from_table(FRAME, "y", name="waves")
        with pytest.raises(ValueError, match="certified: no certificate of this table and the kernel"):
            gym.make("Own/waves-v0", certified=True)
        assert gym.make("Own/waves-v0").unwrapped.problem.knowledge == "learned"  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("id", "kwargs", "text"),
        [
            ("GPBandit/RKHS-v0", {}, "certified: expected a table of arms whose means are fixed"),
            ("GPBandit/RKHS-v0", {"misspecification": {"norm": 2.0}}, "certified: expected no misspecification"),
            ("GPBandit/Branin-v0", {}, "certified: expected a table of arms whose means are fixed"),
        ],
    )
    def test_what_cannot_be_certified(self, id: str, kwargs: dict[str, Any], text: str) -> None:
        with pytest.raises(ValueError, match=text):
            gym.make(id, certified=True, **kwargs)


@pytest.mark.parametrize(
    "path", sorted((Path(package.__file__).parent / "tables").glob("*.json")), ids=lambda p: p.stem
)
def test_the_kept_ones_are_proven_again(path: Path) -> None:
    certificate = DistanceCertificate.from_json(path.read_text())
    try:
        env = gym.make(certificate.made_from["id"], **certificate.made_from["kwargs"])
    except Exception as error:  # whatever a fetch without a network raises
        pytest.skip(f"the data are not here: {str(error)[:80]}")
    plain: Any = env.unwrapped
    env.reset(seed=0)
    certificate.check(plain.problem.arms, plain.mean(np.arange(certificate.n_arms)))
