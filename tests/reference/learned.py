"""UHE-BO on finite arms, written out: dense posteriors, plain weights, nearest points by looking at all."""

from __future__ import annotations

from collections.abc import Callable
from math import e, exp, log, sqrt

import numpy as np

from gpbandit_envs.gp.hyperparameters import Hyperparameters, HyperPrior, isotropic_estimate, map_estimate
from tests.reference.posterior import dense


def uhe_bo(
    arms: np.ndarray,
    feedback: Callable[[int], float],
    horizon: int,
    n_initial: int,
    fits: int,
    rng: np.random.Generator,
) -> tuple[list[int], list[float]]:
    """Algorithm 1 of Ha et al. (2023); the arms evaluated, and EXP3's probability of a random point in each pair.

    Arms span the unit cube. The estimate of line 15 is the library's own; everything around it is not.
    """
    played: list[int] = []
    y: list[float] = []
    for _ in range(n_initial):
        played.append(int(rng.integers(len(arms), size=1)[0]))
        y.append(feedback(played[-1]))
    low, high = min(y), max(y)
    spread = float(np.var(y))
    theta = Hyperparameters(spread, 1e-2 * spread, (0.4 * sqrt(arms.shape[1]),) * arms.shape[1])
    weights, probabilities, p, choice = [1.0, 1.0], [], [0.5, 0.5], 0
    for t in range(1, horizon - n_initial + 1):
        gamma = min(1.0, sqrt(4 * log(2) / ((e - 1) * t)))
        if t % 2 == 1:
            p = [(1 - gamma) * w / sum(weights) + gamma / 2 for w in weights]
            probabilities.append(p[0])
            choice = 0 if rng.random() < p[0] else 1
        if choice == 0 and t % 2 == 1:
            arm = int(rng.integers(len(arms), size=1)[0])
        else:
            pseudo = arms[rng.integers(len(arms), size=2 * len(y))]
            squares = np.square(pseudo[:, None, :] - arms[played][None, :, :]).sum(axis=2)
            copied = np.array(y)[squares.argmin(axis=1)]
            units = (float(np.mean(y)), float(np.std(y)))
            theta = map_estimate(pseudo, copied, rng, starts=fits, warm=[theta], units=units).hyperparameters
            K = theta.kernel()(arms, arms)
            mean, variance = dense(K, np.array(played), np.array(y) - np.mean(y), theta.noise)
            arm = int(np.argmax(mean + 1.96 * np.sqrt(np.maximum(variance, 0))))
        played.append(arm)
        y.append(feedback(arm))
        if t % 2 == 0:
            reward = min(1.0, max(0.0, (max(y[-2:]) - low) / (high - low)))
            weights[choice] *= exp(gamma * reward / (2 * p[choice]))
    return played, probabilities


def map_bucb(
    arms: np.ndarray, feedback: Callable[[int, int], float | None], batches: int, size: int, rng: np.random.Generator
) -> list[list[int]]:
    """GP-BUCB of width 1 with MAP hyperparameters and a first batch drawn uniformly; the arms of each batch.

    Arms span the unit cube; `feedback(t, arm)` is None where an evaluation fails. The estimate is the library's own.
    """
    played: list[int] = []
    y: list[float] = []
    failed: list[int] = []
    dim = arms.shape[1]
    theta = Hyperparameters(1.0, 1e-2, (0.4 * sqrt(dim),) * dim)
    history: list[list[int]] = []
    for batch in range(batches):
        picks: list[int] = []
        if batch == 0:
            picks = [int(rng.integers(len(arms), size=1)[0]) for _ in range(size)]
        else:
            prior = HyperPrior.informative(dim)
            theta = map_estimate(arms[played], np.array(y), rng, prior=prior, starts=2, warm=[theta]).hyperparameters
            K = theta.kernel()(arms, arms)
            mean, _ = dense(K, np.array(played), np.array(y) - np.mean(y), theta.noise)
            for _ in range(size):
                seen = np.array([*played, *failed, *picks])
                _, variance = dense(K, seen, np.zeros(len(seen)), theta.noise)
                picks.append(int(np.argmax(mean + np.sqrt(np.maximum(variance, 0)))))
        history.append(picks)
        for i, arm in enumerate(picks):
            value = feedback(size * batch + i, arm)
            if value is None:
                failed.append(arm)
            else:
                played.append(arm)
                y.append(value)
    return history


def lb_gp_ucb(
    arms: np.ndarray,
    feedback: Callable[[int], float],
    horizon: int,
    n_initial: int,
    noise: float,
    g: Callable[[int], float],
    delta: float,
    rng: np.random.Generator,
    code: bool = False,
) -> tuple[list[int], list[int], list[list[int]]]:
    """Algorithm 1 of Ziomek et al. (2024) with a Matern-5/2 kernel, width 1.96 and a known noise variance.

    Arms span the unit cube. The initial lengthscale is the library's estimate; everything else is written out. Line 12
    is as in the proof, `+ sqrt(xi / n)` on the left. With `code`, elimination, candidates and suspected regret are
    those of the authors' code.

    Returns:
        The arms, the candidates that chose them after the initial design, and the candidates left after each of these.
    """
    d = arms.shape[1]
    played: list[int] = []
    y: list[float] = []
    for _ in range(n_initial):
        played.append(int(rng.integers(len(arms), size=1)[0]))
        y.append(feedback(played[-1]))
    longest = isotropic_estimate(arms[played], np.array(y), noise=noise).lengthscales[0]
    theta, steps = [0], d + 5 if code else d
    while exp(-(theta[-1] + 1) / steps) > 1 / g(1):
        theta.append(theta[-1] + 1)
    shortest, chosen, left = theta[-1], [], []
    S: dict[int, list[tuple[float, float]]] = {i: [] for i in theta}  # rewards, and beta sigma, of each candidate
    for t in range(1, horizon - n_initial + 1):
        regret = {}
        for i in theta:
            n = len(S[i]) + 1
            gain = n ** (d * (d + 1) / (5 + d * (d + 1))) * log(n) ** (5 / (5 + d))
            # R = sqrt(n) (B sqrt(gamma) + gamma), gamma = (theta_0 / theta)^d gain, B = (theta_0 / theta)^(d / 2)
            ratio = exp(i / steps)
            if code:
                term = (1 / (longest / ratio)) ** d * log(n) ** (d + 1)
                regret[i] = sqrt(n * term) * (sqrt(term) + 1)
                continue
            regret[i] = sqrt(n) * (ratio ** (d / 2) * sqrt(ratio**d * gain) + ratio**d * gain)
        i = min(theta, key=lambda i: regret[i])
        K = Hyperparameters(float(np.var(y)), noise, (longest * exp(-i / steps),) * d).kernel()(arms, arms)
        mean, variance = dense(K, np.array(played), np.array(y) - np.mean(y), noise)
        sd = np.sqrt(np.maximum(variance, 0))
        arm = int(np.argmax(mean + 1.96 * sd))
        played.append(arm)
        y.append(feedback(arm))
        chosen.append(i)
        S[i].append((y[-1], 1.96 * float(sd[arm])))
        if all(S[j] for j in theta):
            xi = 2 * noise * log((len(theta) if code else 2 * len(S)) * np.pi**2 * t**2 / (6 * delta))
            L = {j: np.mean([r for r, _ in S[j]]) - sqrt(xi / len(S[j])) for j in theta}
            best = max(L.values())
            explained = {
                j: L[j] + 2 * sqrt(xi / len(S[j])) + (1 if code else 2) * np.mean([width for _, width in S[j]])
                for j in theta
            }
            theta = [j for j in theta if explained[j] >= best]
        if exp(-(shortest + 1) / steps) > 1 / g(t + 1):
            shortest += 1
            theta.append(shortest)
            S[shortest] = []
        left.append(list(theta))
    return played, chosen, left
