"""A category that matters: `agents.Experiment` beside the plain lines that a practitioner writes.

Campaigns of 36 experiments in plates of 6, four ranges and one category of four levels, noise of deviation 2. The
lines are a Gaussian process with a Matern 5/2 kernel of the ranges times a correlation between levels, plus a
variance of the level alone; log-normal priors; a mixture of eight Laplace draws of the hyperparameters; expected
improvement, or mean + 2 sd, at the best of 1,500 random points; within a plate the mean is believed. Both recommend the
tried point of largest posterior mean. Places and the order of levels are drawn anew by each seed, the same for all.
Called as

    python -m benchmarks.levels --seeds 48

Optuna's Gaussian process and BoTorch's process with a kernel of categories play beside them where they are installed
(extras `optuna` and `botorch`): ask for them by `--players`. Both are in their defaults. Optuna recommends the best
measured point; BoTorch the tried point of largest posterior mean, its acquisition is noisy expected improvement, and it
climbs from 2 of 64 points in each level, at one to two minutes of a core a campaign.

*Regret* is the optimum less the true value of the recommended point; a recommended level is *wrong* if it is not that
of the optimum, and a campaign *starved* if it tried that level three times at most; the last count is of starved ones
after which `Experiment.check()` says "Yes". Differences are paired by seed with the first player, at equal places.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist
from scipy.stats import norm

import agents
from gpbandit_envs.gp.threads import one_blas_thread

D, LEVELS, PLATES, PLATE, NOISE = 4, 4, 6, 6, 2.0
# log lengthscales, variance, noise, and variance of the level; logit of the correlation: median and deviation.
MEDIANS = np.array([*[np.log(0.5)] * D, 0.0, -4.0, np.log(0.3), 0.0])
DEVIATIONS = np.array([*[0.7] * D, 0.7, 1.2, 1.0, 1.5])
Truth = Callable[[np.ndarray, int], float]


def shift(rng: np.random.Generator) -> Truth:
    """A level adds to the outcome and moves the optimum a little."""
    centre, moved = rng.uniform(0.25, 0.75, D), rng.normal(0, 0.08, (LEVELS, D))
    gain = rng.permutation([0.0, 4.0, 8.0, 12.0])
    return lambda x, c: float(38 + gain[c] - 60 * np.square(x - centre - moved[c])[:3].sum())


def peaks(rng: np.random.Generator) -> Truth:
    """Each level has a peak in a place of its own, and the highest one is the narrowest."""
    centre, rank = rng.uniform(0.15, 0.85, (LEVELS, D)), rng.permutation(LEVELS)
    height, width = np.array([30.0, 36.0, 42.0, 50.0])[rank], np.array([0.6, 0.55, 0.5, 0.4])[rank]
    return lambda x, c: float(height[c] * np.exp(-np.square((x - centre[c]) / width[c]).sum() / 2))


def gate(rng: np.random.Generator) -> Truth:
    """The best level is good only at one side of a range, and poor elsewhere."""
    centre, best = rng.uniform(0.2, 0.8, D), int(rng.integers(LEVELS))
    base = rng.permutation([24.0, 28.0, 32.0, 36.0])

    def f(x: np.ndarray, c: int) -> float:
        away = np.square(x - centre)[1:].sum()
        return float(50 - 30 * (x[0] - 1) ** 2 - 25 * away) if c == best else float(base[c] - 15 * away - 6 * x[0])

    return f


TASKS = {"shift": shift, "peaks": peaks, "gate": gate}


def optimum(f: Truth, rng: np.random.Generator) -> tuple[float, int]:
    """The largest true value, by climbing from the best random points of each level, and its level."""
    found = []
    for c in range(LEVELS):
        start = max(rng.random((4_000, D)), key=lambda x: f(x, c))
        climbed = minimize(lambda x, c=c: -f(x, c), start, bounds=[(0, 1)] * D)
        found.append(max(-float(climbed.fun), f(start, c)))
    return max(found), int(np.argmax(found))


# The lines: points are rows of the ranges and, last, the level.
def covariance(theta: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The kernel; 1 is the prior variance of the unknown constant mean."""
    r = np.sqrt(5) * cdist(A[:, :-1] / np.exp(theta[:D]), B[:, :-1] / np.exp(theta[:D]))
    same, rho = A[:, None, -1] == B[None, :, -1], 1 / (1 + np.exp(-theta[D + 3]))
    level = np.where(same, np.exp(theta[D + 2]), 0.0)
    return np.exp(theta[D]) * (1 + r + r * r / 3) * np.exp(-r) * np.where(same, 1.0, rho) + level + 1


def loss(theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """The negative log posterior of the hyperparameters."""
    L = np.linalg.cholesky(covariance(theta, X, X) + (np.exp(theta[D + 1]) + 1e-8) * np.eye(len(y)))
    prior = np.square((theta - MEDIANS) / DEVIATIONS).sum() / 2
    return float(np.square(np.linalg.solve(L, y)).sum() / 2 + np.log(np.diag(L)).sum() + prior)


def draws(X: np.ndarray, y: np.ndarray, rng: np.random.Generator, n: int = 8) -> np.ndarray:
    """Hyperparameters drawn from the Laplace approximation around their mode."""
    mode = minimize(loss, MEDIANS, (X, y), "L-BFGS-B", bounds=[*zip(MEDIANS - 4, MEDIANS + 4, strict=True)]).x
    H = approx_fprime(mode, lambda theta: approx_fprime(theta, loss, 1e-5, X, y), 1e-3)
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    spread = vectors / np.sqrt(np.maximum(values, 0.2))  # no direction is wider than the priors
    return np.clip(mode + rng.standard_normal((n, len(mode))) @ spread.T, MEDIANS - 4, MEDIANS + 4)


def moments(theta: np.ndarray, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance at `Z`."""
    K = covariance(theta, X, X) + (np.exp(theta[D + 1]) + 1e-8) * np.eye(len(y))
    k = covariance(theta, Z, X)
    prior = np.exp(theta[D]) + np.exp(theta[D + 2]) + 1
    return k @ np.linalg.solve(K, y), np.maximum(prior - (k * np.linalg.solve(K, k.T).T).sum(axis=1), 1e-12)


def mixed(thetas: np.ndarray, X: np.ndarray, ys: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the mixture: its variance has that of the means in it."""
    mean, variance = np.swapaxes([moments(t, X, y, Z) for t, y in zip(thetas, ys, strict=True)], 0, 1)
    return mean.mean(axis=0), np.sqrt(variance.mean(axis=0) + mean.var(axis=0))


def random_points(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn uniformly."""
    return np.column_stack([rng.random((n, D)), rng.integers(LEVELS, size=n)])


def play_lines(f: Truth, seed: int, improvement: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """The tried points and the recommended one; they check nothing."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(1_000 + seed)
    X, y = random_points(PLATE, rng), np.zeros(0)
    while True:
        y = np.r_[y, [f(x[:-1], int(x[-1])) + NOISE * noise.standard_normal() for x in X[len(y) :]]]
        z = (y - y.mean()) / y.std()
        thetas = draws(X, z, rng)
        ys = np.tile(z, (len(thetas), 1))
        if len(y) == PLATE * PLATES:
            return X, X[int(np.argmax(mixed(thetas, X, ys, X)[0]))], False
        best = mixed(thetas, X, ys, X)[0].max()
        for _ in range(PLATE):
            Z = random_points(1_500, rng)
            mean, sd = mixed(thetas, X, ys, Z)
            u = (mean - best) / sd
            score = sd * (u * norm.cdf(u) + norm.pdf(u)) if improvement else mean + 2 * sd
            pick = Z[[int(np.argmax(score))]]
            believed = [moments(t, X, each, pick)[0] for t, each in zip(thetas, ys, strict=True)]
            X, ys = np.vstack([X, pick]), np.column_stack([ys, believed])


def play_experiment(f: Truth, seed: int, **settings: object) -> tuple[np.ndarray, np.ndarray, bool]:
    """The same of `agents.Experiment`, and whether `check()` says "Yes" at the end."""
    ranges = {**{f"x{j}": (0, 1) for j in range(D)}, "level": list("abcd")}
    agent = (str(settings.pop("id", "MAP-BUCB")), {"width": 2.0} | settings)
    lab, noise, X = agents.Experiment(ranges, agent, seed=seed), np.random.default_rng(1_000 + seed), []

    def row(point: agents.Point) -> np.ndarray:
        return np.array([*[point[f"x{j}"] for j in range(D)], "abcd".index(point["level"])])

    for _ in range(PLATES):
        for point in lab.ask(PLATE):
            X.append(row(point))
            lab.tell(point, f(X[-1][:-1], int(X[-1][-1])) + NOISE * noise.standard_normal())
    yes = agent[0] == "MAP-BUCB" and lab.check().verdict.startswith("Yes")  # it has no check of a mixture
    return np.array(X), row(lab.recommend()), yes


def play_optuna(f: Truth, seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """The same of Optuna's Gaussian process, a plate of open trials at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = {f"x{j}": optuna.distributions.FloatDistribution(0, 1) for j in range(D)}
    levels = optuna.distributions.CategoricalDistribution(range(LEVELS))
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
    noise, X = np.random.default_rng(1_000 + seed), []
    for _ in range(PLATES):
        for trial in [study.ask({**ranges, "level": levels}) for _ in range(PLATE)]:
            X.append(np.array([*trial.params.values()], dtype=float))
            study.tell(trial, f(X[-1][:-1], int(X[-1][-1])) + NOISE * noise.standard_normal())
    return np.array(X), X[study.best_trial.number], False


def play_botorch(f: Truth, seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """The same of BoTorch's process with a kernel of categories."""
    import torch
    from botorch import acquisition, fit, models, optim
    from gpytorch.mlls import ExactMarginalLogLikelihood

    noise, X, y = np.random.default_rng(1_000 + seed), random_points(PLATE, np.random.default_rng(seed)), np.zeros(0)
    torch.manual_seed(seed)
    bounds = torch.tensor([[0.0] * (D + 1), [1.0] * D + [LEVELS - 1.0]], dtype=torch.float64)
    while True:
        y = np.r_[y, [f(x[:-1], int(x[-1])) + NOISE * noise.standard_normal() for x in X[len(y) :]]]
        tried = torch.tensor(X)
        model = models.MixedSingleTaskGP(
            tried, torch.tensor(y)[:, None], [D], outcome_transform=models.transforms.Standardize(1)
        )
        fit.fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if len(y) == PLATE * PLATES:
            return X, X[int(model.posterior(tried).mean.argmax())], False
        plate, _ = optim.optimize_acqf_mixed(
            acquisition.qLogNoisyExpectedImprovement(model, X_baseline=tried),
            bounds=bounds,
            q=PLATE,
            num_restarts=2,
            raw_samples=64,
            fixed_features_list=[{D: float(c)} for c in range(LEVELS)],
        )
        X = np.vstack([X, plate.numpy()])


_PRIOR = {
    "variance": {"name": "log_normal", "scale": 0.7},
    "noise": {"name": "log_normal", "location": -4.0, "scale": 1.2},
    "lengthscale": {"name": "log_normal", "location": float(np.log(0.5)), "scale": 0.7},
}
PLAYERS: dict[str, Callable[[Truth, int], tuple[np.ndarray, np.ndarray, bool]]] = {
    "lines, mean + 2 sd": lambda f, seed: play_lines(f, seed, False),
    "lines, expected improvement": lambda f, seed: play_lines(f, seed, True),
    "Experiment": lambda f, seed: play_experiment(f, seed),
    "Experiment, one-hot columns": lambda f, seed: play_experiment(f, seed, categories=False),
    "Experiment, width 1": lambda f, seed: play_experiment(f, seed, width=1.0),
    "Experiment, lengthscales .5": lambda f, seed: play_experiment(f, seed, prior=_PRIOR),
    "Experiment, mixture": lambda f, seed: play_experiment(f, seed, id="agents.learned.gp_bucb:MixtureBUCB"),
    "Optuna GP": play_optuna,
    "BoTorch, kernel of categories": play_botorch,
}
_OURS = [player for player in PLAYERS if player.startswith(("lines", "Experiment"))]


@one_blas_thread()
def outcome(task: str, player: str, seed: int) -> tuple[float, bool, bool, bool]:
    """Regret of the recommendation, whether its level is wrong, the best level starved, and `check()` said "Yes"."""
    f = TASKS[task](np.random.default_rng(500 + seed))
    top, level = optimum(f, np.random.default_rng(0))
    X, chosen, yes = PLAYERS[player](f, seed)
    starved = int((X[:, -1] == level).sum()) <= 3
    return top - f(chosen[:-1], int(chosen[-1])), int(chosen[-1]) != level, starved, yes


def error_of(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=48, help="at least 2")
    parser.add_argument("--players", nargs="+", choices=list(PLAYERS), default=_OURS)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    chosen = parser.parse_args()
    print("| task | player | regret | wrong level | starved | starved and Yes | less the first, paired |")
    print("|---|---|---|---|---|---|---|")
    differences: dict[str, list[np.ndarray]] = {player: [] for player in chosen.players}
    for task in chosen.tasks:
        first = np.zeros(0)
        for player in chosen.players:
            regret, wrong, starved, yes = np.array([outcome(task, player, seed) for seed in range(chosen.seeds)]).T
            first = regret if not len(first) else first
            differences[player].append(regret - first)
            paired = f"{(regret - first).mean():+.2f} +- {error_of(regret - first):.2f}"
            counts = f"{int(wrong.sum())} | {int(starved.sum())} | {int(starved @ yes)} of {len(regret)}"
            print(f"| {task} | {player} | {regret.mean():.2f} +- {error_of(regret):.2f} | {counts} | {paired} |")
    for player, parts in differences.items():
        pooled = np.concatenate(parts)
        print(f"| pooled | {player} | | | | | {pooled.mean():+.2f} +- {error_of(pooled):.2f} |")


if __name__ == "__main__":
    main()
