"""RGP-UCB, RGP-PE, VA-PE and VA-MVR: against their textbook forms, and where there is nothing to be robust to."""

from __future__ import annotations

from dataclasses import replace
from math import e
from typing import Any

import numpy as np
import pytest

import agents
from agents import BoundInputs, Feedback, Pending
from agents.core.guarantees import guarantee_status
from agents.few_batches import bpe
from agents.few_batches.rgp_pe import rare_switching
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from tests.agents.play import begun, features, gram, in_the_ball, noisy, play
from tests.agents.test_faithful import PROBLEMS, WITHOUT_TIES, T, constants
from tests.reference import policies
from tests.reference.posterior import dense

C = 3.0


# ---- corruption ----


@pytest.mark.parametrize("id", ["RGP-UCB", "RGP-PE"])
def test_the_problem_states_the_budget(id: str) -> None:
    problem, mean = PROBLEMS[0]
    stated = replace(problem, misspecification={"corruption": C}, horizon=400)
    played = [
        play(agents.make(id, lam=1.0, **kwargs), on, noisy(mean, 0.1, 6), 0)
        for kwargs, on in (
            ({}, stated),
            ({"corruption": C}, replace(problem, horizon=400)),
            ({"corruption": 0.0}, stated),
        )
    ]
    assert played[0] == played[1] != played[2]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 0.02])
@pytest.mark.parametrize(("problem", "mean"), [PROBLEMS[i] for i in (0, 1, 3)])
def test_rgp_pe_plays_the_textbook_s_epochs(problem: Problem, mean: np.ndarray, scale: float) -> None:
    for psi, eta in ((0.5, 2.0), (0.1, 1.0), (0.02, 3.0)):
        K, _, noise_std, F, delta = constants(problem)
        epochs = 6
        expected = policies.rgp_pe(K, 0.5, noise_std, F, delta, scale, psi, eta, epochs, noisy(mean, noise_std, 6))
        agent: Any = agents.make("RGP-PE", corruption=scale, psi=psi, eta=eta, lam=0.5, delta=delta)
        long = replace(problem, horizon=sum(map(len, expected.batches)))
        assert play(agent, long, noisy(mean, noise_std, 6), 0) == expected.batches
        assert agent.alive.tolist() == expected.dictionaries[-1]
        assert agent.batch == epochs


def test_rgp_pe_that_has_nothing_to_be_robust_to_is_phased_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    """With C = 0, an arm looked for at each pick and no least number of pulls: BPE with batches of 2, 4, 8, ..."""
    monkeypatch.setattr(bpe, "_FIRST", 2)
    problem, mean = PROBLEMS[0]
    problem = replace(problem, horizon=2 + 4 + 8 + 16 + 32 + 64)

    def clean(arms: np.ndarray) -> np.ndarray:
        return mean[arms]  # the order within a batch is another

    robust = agents.make("RGP-PE", eta=1.0, psi=1e-6, width=1.0)
    plain = agents.make("BPE", lengths="doubling", width=1.0)
    expected = [sorted(batch) for batch in play(plain, problem, clean, 0)]
    assert [sorted(batch) for batch in play(robust, problem, clean, 0)] == expected
    assert robust.recommend() == plain.recommend()


def test_rare_switching_picks_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    arms, picks = rare_switching(ExactPosterior(SE(0.3), X, 0.1), 500, 1.0)
    posterior = ExactPosterior(SE(0.3), X, 0.1)
    counts = np.zeros(40)
    for _ in range(500):
        arm = int(np.argmax(posterior.variance))
        posterior.update(np.array([arm]), np.ones(1), np.zeros(1))
        counts[arm] += 1
    assert picks.sum() == 500
    assert len(arms) == len(set(arms.tolist()))
    seen = np.zeros(40)
    seen[arms] = picks
    assert np.abs(seen - counts).max() <= 1  # ties after rounding
    few, _ = rare_switching(ExactPosterior(SE(0.3), X, 0.1), 500, 10.0)
    assert len(few) < len(arms)


def test_the_enlargements_of_rgp_pe() -> None:
    problem, mean = PROBLEMS[0]
    problem = replace(problem, horizon=200)
    widths = {}
    for enlargement in ("theory", "tight", 0.1):
        agent = begun(problem, "RGP-PE", corruption=C, enlargement=enlargement, width=2.0, lam=0.25)
        first = agent.select(200, Pending.empty(problem))
        counts = np.bincount(first)[np.unique(first)]
        agent.observe(Feedback.of(np.arange(len(first)), first, mean[first]))
        widths[enlargement] = agent.diagnostics()["width"] - 2.0, len(first), int(counts.min())
    extra, pulls, least = widths["theory"]
    assert extra == pytest.approx(C * np.sqrt(pulls) / (0.5 * 2 * 0.25))
    extra, pulls, least = widths["tight"]
    assert extra == pytest.approx(C / np.sqrt(least * 0.25))
    extra, pulls, least = widths[0.1]
    assert extra == pytest.approx(0.1 * C / np.sqrt(pulls))


def status(id: str, problem: Problem, **kwargs: Any) -> str:
    agent = begun(problem, id, **kwargs)
    return guarantee_status(agent.band_guarantee(), problem)


def test_which_bands_are_guaranteed() -> None:
    plain = replace(PROBLEMS[0][0], noise_tails=NoiseTails(0.1, gaussian=True))
    corrupted, near = (replace(plain, misspecification={name: 0.5}) for name in ("corruption", "sup"))
    both = replace(plain, misspecification={"corruption": 0.5, "sup": 0.5})
    robust: list[tuple[str, dict[str, Any]]] = [("RGP-UCB", {}), ("RGP-PE", {}), ("RGP-PE", {"enlargement": "tight"})]
    for id, kwargs in robust:
        assert status(id, plain, **kwargs) == status(id, corrupted, **kwargs) == ""
        assert status(id, corrupted, corruption=0.1, **kwargs) == "its theorem does not allow for corrupted feedback"
        assert "only close" in status(id, near, **kwargs)
    for id in ("RGP-UCB", "RGP-PE"):
        assert status(id, corrupted, enlargement=0.1) == "its theorem does not allow for corrupted feedback"
    assert status("EC-GP-UCB", near) == ""
    assert "only close" in status("EC-GP-UCB", near, misspecification=0.1)
    for id in ("GP-UCB", "BPE"):
        assert status(id, corrupted) == "its theorem does not allow for corrupted feedback"
        assert status(id, both) == (
            "its theorem does not allow for corrupted feedback and a mean that is only close to the prior's functions"
        )
    assert "tuned" in status("RGP-PE", corrupted, width=4.0)
    assert status("RGP-PE", plain, lam=2.0) != ""


def test_the_regret_bound_of_rgp_ucb_grows_with_the_budget() -> None:
    problem = PROBLEMS[0][0]
    gamma = 0.5 * T * np.log1p(np.arange(1, T + 1) / 0.1**2 / T)
    inputs = [
        BoundInputs(replace(problem, misspecification=stated), T, gamma, None, 1.0, 0.1)
        for stated in ({}, {"corruption": 1.0}, {"corruption": 2.0})
    ]
    found = [agents.make("RGP-UCB").regret_guarantee(one) for one in inputs]
    assert found[0] == agents.make("GP-UCB").regret_guarantee(inputs[0])
    bounds = [one.bound for one in found if one.bound is not None]
    assert bounds[2] - bounds[1] == pytest.approx(bounds[1] - bounds[0])
    # C sqrt(8 C' T gamma_T / lam), as the enlargement stands before the sum of deviations.
    assert bounds[1] - bounds[0] == pytest.approx(np.sqrt(8 / np.log1p(1 / 0.01) * T * gamma[-1]) / 0.1)
    assert found[1].tolerates == {"corruption"}
    assert agents.make("RGP-UCB", enlargement=0.5).regret_guarantee(inputs[1]).bound is None


def test_an_epoch_whose_evaluations_fail_is_played_again() -> None:
    problem, _ = PROBLEMS[0]
    agent = begun(problem, "RGP-PE")
    first = agent.select(60, Pending.empty(problem))
    n = len(first)
    failed = Feedback(np.arange(n), first, np.full(n, np.nan), np.ones(n), np.ones(n, bool))
    agent.observe(failed)
    np.testing.assert_array_equal(agent.select(60, Pending.empty(problem)), first)


# ---- noise that differs by arm ----


@pytest.mark.parametrize(("aware", "plain"), [("VA-MVR", "MVR"), ("VA-PE", "BPE")])
@pytest.mark.parametrize(("problem", "mean"), [PROBLEMS[i] for i in (0, 1, 3)])
def test_equal_variances_play_as_the_plain_forms(problem: Problem, mean: np.ndarray, aware: str, plain: str) -> None:
    assert problem.noise_std is not None
    equal = replace(problem, noise_stds=np.full(problem.n_arms, problem.noise_std))
    unstated = problem
    feedback = [noisy(mean, problem.noise_std, 6) for _ in range(3)]
    kwargs = {"lengths": "doubling"} if plain == "BPE" else {}
    expected = play(agents.make(plain, **kwargs), problem, feedback[0], 0)
    assert play(agents.make(aware), equal, feedback[1], 0) == expected
    assert play(agents.make(aware), unstated, feedback[2], 0) == expected


def unequal(seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    problem, mean = PROBLEMS[0]
    stds = 10 ** np.random.default_rng(seed).uniform(-2, 0, problem.n_arms)
    return replace(problem, noise_std=float(stds.max()), noise_stds=stds, horizon=56), mean, stds


def test_va_mvr_picks_by_the_variance_of_the_textbook() -> None:
    problem, mean, stds = unequal(0)
    K = gram(problem)
    agent = agents.make("VA-MVR")
    played = np.concatenate(play(agent, problem, lambda arms: mean[arms], 0))
    for t in range(1, len(played)):
        variance = dense(K, played[:t], np.zeros(t), stds[played[:t]] ** 2)[1]
        assert variance[played[t]] >= variance.max() - 1e-9
    centre, _ = agent.predict(features(problem)) or (mean, mean)
    np.testing.assert_allclose(centre, dense(K, played, mean[played], stds[played] ** 2)[0], atol=1e-8)
    assert agent.recommend() == np.argmax(centre)


def test_va_pe_eliminates_by_the_bounds_of_the_textbook() -> None:
    problem, mean, stds = unequal(1)
    K, width = gram(problem), 1.5
    agent = agents.make("VA-PE", width=width)
    batches = play(agent, problem, lambda arms: mean[arms], 0)
    assert [len(batch) for batch in batches] == [8, 16, 32]
    alive = np.arange(problem.n_arms)
    for batch in batches:
        pulls = np.array(batch)
        assert np.isin(pulls, alive).all()
        for t in range(1, len(pulls)):
            variance = dense(K, pulls[:t], np.zeros(t), stds[pulls[:t]] ** 2)[1]
            assert variance[pulls[t]] >= variance[alive].max() - 1e-9
        centre, variance = dense(K, pulls, mean[pulls], stds[pulls] ** 2)
        sd = np.sqrt(np.maximum(variance, 0))
        alive = alive[(centre + width * sd)[alive] >= (centre - width * sd)[alive].max()]
    assert agent.diagnostics()["alive"] == len(alive)


def test_an_arm_without_noise_is_looked_at_once() -> None:
    problem, mean, stds = unequal(2)
    stds = stds.copy()
    stds[::2] = 0.0
    problem = replace(problem, noise_stds=stds)
    played = np.concatenate(play(agents.make("VA-MVR"), problem, lambda arms: mean[arms], 0))
    assert np.bincount(played, minlength=problem.n_arms)[::2].max() == 1


def test_existing_data_are_weighed_by_their_noise() -> None:
    problem, mean, stds = unequal(3)
    data = {"arms": np.array([3, 4, 4, 9]), "rewards": np.array([0.1, 0.2, 0.4, -0.3])}
    stated = replace(problem, initial=InitialData(**data))
    agent = begun(stated, "VA-MVR")
    centre, _ = agent.predict(features(problem)) or (mean, mean)
    np.testing.assert_allclose(
        centre, dense(gram(problem), data["arms"], data["rewards"], stds[data["arms"]] ** 2)[0], atol=1e-8
    )


# ---- eC-GP-UCB: its arms, its band about functions outside the RKHS, and its regret bound ----


EPS = 0.2


def in_ball(seed: int, norm: float = 1.0, n_arms: int = 60) -> tuple[Problem, np.ndarray]:
    """A problem and the values of a function of that norm."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 1))
    kernel = SE(0.1)
    mean = in_the_ball(kernel(X, X), rng) * norm
    return Problem(name="ball", dim=1, arms=X, kernel=kernel, noise_std=0.05, norm_bound=norm, horizon=T), mean


def test_the_problem_states_the_misspecification() -> None:
    problem, mean = PROBLEMS[0]
    stated = replace(problem, misspecification={"sup": EPS})
    played = play(agents.make("EC-GP-UCB"), stated, noisy(mean, 0.1, 6), 0)
    assert played == play(agents.make("EC-GP-UCB", misspecification=EPS), problem, noisy(mean, 0.1, 6), 0)
    assert played == play(agents.make("EC-GP-UCB", misspecification=EPS), stated, noisy(mean, 0.1, 6), 0)
    assert played != play(agents.make("EC-GP-UCB", misspecification=0.0), stated, noisy(mean, 0.1, 6), 0)


def test_the_regret_bound_holds_and_grows_linearly() -> None:
    problem, inside = in_ball(3)
    mean = inside + EPS * np.where(features(problem)[:, 0] < 0.5, 1.0, -1.0)
    agent = agents.make("EC-GP-UCB", misspecification=EPS)
    arms = np.ravel(play(agent, problem, noisy(mean, 0.05, 0), 0))
    gamma = 0.5 * T * np.log1p(np.arange(1, T + 1) / 0.05**2 / T)  # no set of pulls gains more than independent arms
    bounds = [agent.regret_guarantee(BoundInputs(problem, t, gamma, None, 1.0, 0.05)).bound for t in range(1, T + 1)]
    plain = agents.make("GP-UCB").regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05))
    assert (np.cumsum(mean.max() - mean[arms]) <= bounds).all()
    assert plain.bound is not None
    assert bounds[-1] is not None
    assert bounds[-1] > plain.bound + 2 * EPS * T
    assert agent.regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05)).exponent == 1
    assert agents.make("EC-GP-UCB").regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05)) == plain
    unstated = replace(problem, norm_bound=None, knowledge="learned")
    assert agent.regret_guarantee(BoundInputs(unstated, T, gamma, None, 1.0, 0.05)).bound is None


def test_its_band_is_that_of_its_width_and_of_its_paper() -> None:
    problem, mean = in_ball(0)
    agent = agents.make("EC-GP-UCB", misspecification=EPS)
    play(agent, problem, noisy(mean, 0.05, 0), 0)
    guarantee = agent.band_guarantee()
    assert guarantee.kind == "proven"
    assert "Bogunovic and Krause (2021)" in guarantee.theorem
    tuned = begun(problem, "EC-GP-UCB", misspecification=EPS, width=1.0)
    assert tuned.band_guarantee().kind == "tuned"
    assert tuned.band_guarantee().theorem == ""


# ---- iRGP-UCB: its arms, the property of its random width, and its regret bound ----


@pytest.mark.parametrize(("problem", "mean"), WITHOUT_TIES)
def test_it_chooses_the_textbook_s_arms(problem: Problem, mean: np.ndarray) -> None:
    K, lam, xi, *_ = constants(problem)
    expected = policies.irgp_ucb(K, lam, T, noisy(mean, xi, 6), np.random.default_rng(3))
    assert play(agents.make("IRGP-UCB"), problem, noisy(mean, xi, 6), 3) == expected.batches


def widths(n_arms: int, n: int) -> np.ndarray:
    """Widths that the agent draws with that many arms."""
    problem = Problem(name="p", dim=1, arms=np.linspace(0, 1, n_arms)[:, None], kernel=SE(0.1), noise_std=0.1)
    agent, rng, drawn = agents.make("IRGP-UCB"), np.random.default_rng(0), []
    for _ in range(n):
        agent.reset(problem, rng)
        drawn.append(agent.diagnostics()["width"])
    return np.array(drawn)


def test_the_squared_width_is_a_shifted_exponential_variate() -> None:
    squares = widths(20, 2_000) ** 2
    shift = 2 * np.log(10)
    assert squares.min() >= shift
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - (shift + 2)) < 4 * error
    assert abs(np.mean(squares > shift + 2 * np.log(4)) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(squares))


def test_the_regret_bound_is_for_draws_from_the_prior() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    K = SE(0.2)(X, X)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(40))
    problem = Problem(name="prior", dim=1, arms=X, kernel=SE(0.2), noise_std=0.1, knowledge="oracle", horizon=T)
    gamma = np.zeros(T)  # greedily, and by at most e / (e - 1) of it
    pulled: list[int] = []
    for t in range(T):
        var = (
            np.diagonal(K)
            if not pulled
            else np.diagonal(
                K - K[:, pulled] @ np.linalg.solve(K[np.ix_(pulled, pulled)] + 0.01 * np.eye(t), K[pulled])
            )
        )
        pulled.append(int(np.argmax(var)))
        gamma[t] = (gamma[t - 1] if t else 0) + 0.5 * np.log1p(var.max() / 0.01)
    inputs = BoundInputs(problem, T, gamma / (1 - 1 / e), None, 1.0, 0.1)
    guarantee = agents.make("IRGP-UCB").regret_guarantee(inputs)
    assert guarantee.bound is not None
    assert guarantee.exponent == 0.5
    regrets = []
    for seed in range(10):
        f = root @ np.random.default_rng(seed).standard_normal(40)
        arms = np.ravel(play(agents.make("IRGP-UCB"), problem, noisy(f, 0.1, seed), seed))
        regrets.append(float((f.max() - f[arms]).sum()))
    assert np.mean(regrets) < guarantee.bound
    assert guarantee.bound < 50 * np.mean(regrets)
    for other in (replace(problem, knowledge="learned"), replace(problem, norm_bound=1.0)):
        assert agents.make("IRGP-UCB").regret_guarantee(replace(inputs, problem=other)).bound is None
    assert agents.make("IRGP-UCB", n_start=3).regret_guarantee(inputs).bound is None


def test_it_promises_no_band() -> None:
    problem, mean = WITHOUT_TIES[0]
    agent = agents.make("IRGP-UCB")
    play(agent, problem, noisy(mean, 0.1, 0), 0)
    assert agent.band_guarantee().kind == "tuned"
    assert agent.band_guarantee().delta is None
