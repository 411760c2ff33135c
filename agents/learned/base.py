"""Base class of policies that estimate the kernel: initial design, estimates, posterior, and the next point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from agents.core.acquisition import Predictive, UpperConfidenceBound
from agents.core.finite import Offer
from agents.core.guarantees import BandGuarantee
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.space import SearchFields, space_of
from gpbandit_envs.arguments import as_count, as_number, positive_number
from gpbandit_envs.gp.hyperparameters import Hyperparameters, HyperPrior, as_hyper_prior, map_estimate
from gpbandit_envs.gp.hyperparameters.likelihood import Groups, free_dim
from gpbandit_envs.gp.hyperparameters.map import standard_start
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem


def as_noise(noise: object, estimated: tuple[str, ...]) -> str | float:
    """The setting `noise` of a policy: a way to estimate it, `"stated"`, or a standard deviation > 0.

    Raises:
        TypeError, ValueError: if it is none of these.
    """
    words = (*estimated, "stated")
    if isinstance(noise, str) and noise in words:
        return noise
    given: Any = noise
    expected = f"{', '.join(map(repr, words))} or a finite standard deviation > 0"
    return as_number("noise", given, expected, lambda xi: xi > 0)


def known_noise(noise: str | float, problem: Problem) -> float | None:
    """The noise variance that is not estimated, unit of y^2; None if it is.

    Raises:
        ValueError: if it is to be the problem's, which states none.
    """
    if noise == "stated":
        if not problem.noise_std:
            raise ValueError(
                f"noise: 'stated' needs a problem that states its noise_std, {problem.name} states {problem.noise_std}"
            )
        return problem.noise_std**2
    return None if isinstance(noise, str) else noise**2


class Mixture:
    """Means and standard deviations averaged over posteriors with different hyperparameters.

    An upper confidence bound is linear in both, so that the bound of the averages is the average of the bounds: the
    acquisition function integrated over the hyperparameters. The spread of the means is not added to the deviation,
    unless `spread`: then the variance is that of the mixture, the mean of the variances plus the variance of the means.

    Args:
        parts: The posteriors, at least one.
        spread: Whether the deviation is that of the mixture.

    Reference: Snoek, Larochelle and Adams (2012), Practical Bayesian optimization of machine learning algorithms,
    section 3.2.
    """

    def __init__(self, parts: Sequence[GPRegression], spread: bool = False) -> None:
        self.parts, self.spread = tuple(parts), spread

    def at(self, Z: Float[np.ndarray, "m d"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Average mean, and the square of the average standard deviation."""
        return self._averages([part.at(Z) for part in self.parts])

    def mean_and_bound(self, Z: Float[np.ndarray, "m d"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Average mean, and the square of the average of upper bounds of the standard deviation."""
        return self._averages([part.mean_and_bound(Z) for part in self.parts])

    def at_with_gradient(
        self, Z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], Float[np.ndarray, "m d"], Float[np.ndarray, "m d"]]:
        """Averages of mean, standard deviation and of their gradients."""
        answers = [part.at_with_gradient(Z) for part in self.parts]
        if self.spread:
            means, sds, mean_gradients, sd_gradients = (np.array(column) for column in zip(*answers, strict=True))
            mean, variance = self._averages(list(zip(means, sds**2, strict=True)))
            away = means - mean
            slope = (sds[..., None] * sd_gradients + away[..., None] * mean_gradients).mean(axis=0)
            sd = np.sqrt(variance)
            known = (sd <= 0)[:, None]
            sd_gradient = np.where(known, 0.0, slope / np.where(known, 1.0, sd[:, None]))
            return mean, sd, mean_gradients.mean(axis=0), sd_gradient
        mean, sd, mean_gradient, sd_gradient = (np.mean(column, axis=0) for column in zip(*answers, strict=True))
        return mean, sd, mean_gradient, sd_gradient

    def _averages(
        self,
        answers: Sequence[tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]],
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        mean = np.mean([mean for mean, _ in answers], axis=0)
        if self.spread:
            return mean, np.mean([variance + (each - mean) ** 2 for each, variance in answers], axis=0)
        return mean, np.mean([np.sqrt(variance) for _, variance in answers], axis=0) ** 2


_MANY, _FITTED = 2_000, 500  # evaluations


@dataclass(kw_only=True, eq=False, repr=False)
class LearnedAgent(SearchFields, Agent):
    """Evaluates `argmax mean + width sd` of a Gaussian process whose hyperparameters are estimated during the episode.

    The initial design `D_0` consists of the problem's existing data and uniform actions. The features of arms are
    scaled to the unit cube; rewards are standardised for the estimate, so that the prior mean is their average.
    The problem's kernel and noise are not used. Other arguments: see `SearchFields`.

    A subclass says in `estimate` how, and in `plan_next` when, and whether its next action is a random one; it
    overrides `record_evaluation` where it learns from single rewards. Besides `estimate` there are `fit_map` and
    `update_posterior` to call. See `docs/guides/agent.md`.

    Args:
        family: `"matern52"`, `"matern32"` or `"se"`, with one lengthscale per feature.
        width: Factor of the standard deviation, > 0.
        n_initial: Size of `D_0`, >= 1, or more if more data exist; None for 3 per feature, as the UHE-BO paper does not
            state its own.
        prior: Priors and bounds of the hyperparameters, their JSON form, or a reading of the UHE-BO paper's
            Gamma(1e-3, 10): `"gamma-mean"`, which None stands for, or `"gamma-rate"`.
        fits: Starts of each MAP estimate, the first one at the previous estimate.

    Attributes:
        actions: Actions whose evaluation did not fail, shape (n,) or (n, d).
        offered: The arms among which it selects and recommends.
        y: Their rewards, shape (n,).
        known: Noise variances that were told, shape (n,), NaN where they are learnt.
        design_size: Size of `D_0` in this episode.
        explores: Whether the next action is a random one.
        hyperparameters: The current estimate, or samples; lengthscales in coordinates of the unit cube.
        prior_mean: Constant prior mean, unit of the reward.
        posterior: The posterior given all data and `hyperparameters`.

    Raises:
        ValueError: if a number is out of range.
    """

    family: str = "matern52"
    width: float = 1.96
    n_initial: int | None = None
    prior: HyperPrior | Mapping[str, Any] | str | None = None
    fits: int = 2

    capabilities = Capabilities(frozenset({"finite", "box"}), batch="sequential", contexts=True)
    spread: ClassVar[bool] = False
    """Whether the variance of several posteriors is that of their mixture, see `Mixture`."""
    not_saved = Agent.not_saved | {"space"}

    def __post_init__(self) -> None:
        self.width = positive_number("width", self.width)
        Hyperparameters(1.0, 1.0, (1.0,)).kernel(self.family)  # refuses an unknown family before the first estimate
        self.fits = as_count("fits", self.fits, most=10_000)
        self.prior = None if self.prior is None else as_hyper_prior(self.prior)
        self.n_initial = None if self.n_initial is None else as_count("n_initial", self.n_initial)
        self._search = self.search()

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.space = space_of(problem, self._search)
        self.actions, self.y = Pending.empty(problem).actions, np.zeros(0)
        if problem.initial is not None:
            self.actions, self.y = problem.initial.actions, problem.initial.rewards
        sds = None if problem.initial is None else problem.initial.sds
        self.known = np.full(len(self.y), np.nan) if sds is None else np.square(sds)
        self.offered = Offer.all(problem)
        self.groups = self.groups_of(problem)
        dim = free_dim(problem.dim, self.groups)
        self.hyper_prior = self.default_prior(dim) if self.prior is None else as_hyper_prior(self.prior)
        self.design_size = max(3 * problem.dim if self.n_initial is None else self.n_initial, len(self.y))
        self.explores = True
        self._guess()
        self._continue()

    def groups_of(self, problem: Problem) -> Groups:
        """The columns of each category that has a kernel of its own, see `Hyperparameters`: none."""
        return ()

    def default_prior(self, dim: int) -> HyperPrior:
        """The priors of the hyperparameters of `dim` features, a category counted once, where none are given."""
        return HyperPrior()

    def estimate(self) -> None:
        """Set `hyperparameters` and `prior_mean` from all data: by default to their MAP estimate."""
        self.fit_map(self.X, self.y, known=self.known)

    def plan_next(self) -> None:
        """Set `explores`, and bring hyperparameters and posterior up to date; called after `D_0` at new feedback."""
        self.explores = False
        self.estimate()
        self.update_posterior()

    def record_evaluation(self, reward: float) -> None:
        """Record the reward of an evaluation after `D_0`, NaN if it failed; called before `plan_next`."""

    def update_posterior(self) -> None:
        """Compute the posterior from hyperparameters and data."""
        parts = [
            GPRegression(each.kernel(self.family), self.X, self.y, each.noise, self.prior_mean, self.known)
            for each in self.hyperparameters
        ]
        self.posterior: GPRegression | Mixture = parts[0] if len(parts) == 1 else Mixture(parts, self.spread)

    @property
    def X(self) -> Float[np.ndarray, "n d"]:  # noqa: N802 - the field's name of the inputs
        """Coordinates of the evaluated actions."""
        return self.space.coordinates(self.actions)

    @property
    def in_initial_design(self) -> bool:
        """Whether `D_0` is still being collected."""
        return len(self.y) < self.design_size

    def fit_map(
        self,
        X: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        units: tuple[float, float] | None = None,
        known: Float[np.ndarray, " n"] | None = None,
    ) -> None:
        """Set the hyperparameters to their MAP estimate from rewards `y` at `X`.

        Of more than 2,000 evaluations they are estimated from 500, since that takes the cube of their number: always
        the same ones, drawn at random, with the offset and the scale of all. The posterior is that of all.
        """
        if len(y) > _MANY:
            units = units or Observations.of(X, y).standardised()[1:]
            # The place of each is drawn once: further evaluations exchange few of those that are taken.
            taken = np.sort(np.argsort(np.random.default_rng(0).random(len(y)))[:_FITTED])
            X, y, known = X[taken], y[taken], None if known is None else known[taken]
        estimate = map_estimate(
            X,
            y,
            self.rng,
            family=self.family,
            prior=self.hyper_prior,
            starts=self.fits,
            warm=self.hyperparameters[:1],
            units=units,
            known=known,
            groups=self.groups,
        )
        self.hyperparameters: Sequence[Hyperparameters] = [estimate.hyperparameters]
        self.prior_mean = estimate.prior_mean

    def _guess(self) -> None:
        """Set the hyperparameters of `D_0`, which has too few data to estimate any: a standard start in their units."""
        offset, scale = (0.0, 1.0) if len(self.y) == 0 else Observations.of(self.X, self.y).standardised()[1:]
        start = standard_start(self.problem.dim, self.groups)
        self.hyperparameters = [Hyperparameters.from_vector(start, self.groups).rescaled(scale)]
        self.prior_mean = offset

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return Pending.empty(self.problem).actions
        if self.explores:
            return self.space.random(1, self.rng, self.offered)
        return self.maximise_bound(self.posterior)

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        self.offered = Offer.among(arms, self.problem)

    def maximise_bound(self, posterior: Predictive) -> Actions:
        """The action of largest upper confidence bound, as an array of one."""
        return self.space.best_score(UpperConfidenceBound(self.width), posterior, self.X, self.rng, self.offered)

    def observe(self, feedback: Feedback) -> None:
        # In the order of the tickets, so that the order within a delivery does not matter.
        for i in np.argsort(feedback.tickets).tolist():
            initial = self.in_initial_design
            if not feedback.failed[i]:
                self.actions = np.concatenate([self.actions, feedback.actions[i : i + 1]])
                self.y = np.append(self.y, feedback.rewards[i])
                self.known = np.append(self.known, np.nan if feedback.sds is None else feedback.sds[i] ** 2)
            if not initial:
                self.record_evaluation(float(feedback.rewards[i]))
        if self.in_initial_design:
            self._guess()
        self._continue()
        if not self.explores and self.offered.some is None:
            # Now, so that whoever times observing and selecting has timed it before asking for a recommendation.
            self.space.prepare(self.posterior)

    def _continue(self) -> None:
        if self.in_initial_design:
            self.update_posterior()
        else:
            self.plan_next()

    def scaled_reward(self, y: float) -> float:
        """A reward scaled to [0, 1] by the extremes of `D_0`; 0 if the evaluation failed."""
        low, high = float(self.y[: self.design_size].min()), float(self.y[: self.design_size].max())
        if np.isnan(y):
            return 0.0
        return float(np.clip((y - low) / (high - low), 0.0, 1.0)) if high > low else float(y > high)

    def recommend(self) -> Action:
        """The arm that is offered, or the evaluated point of a box, of largest posterior mean."""
        return self.space.best(self.posterior, self.actions, self.offered)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(self.space.scaled(np.asarray(X, np.float64)))
        return mean, self.width * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return BandGuarantee(width=f"{self.width:g}")

    def diagnostics(self) -> Mapping[str, float]:
        lengthscales = np.mean([known.lengthscales for known in self.hyperparameters], axis=0)
        return {
            "width": self.width,
            "variance": float(np.mean([known.variance for known in self.hyperparameters])),
            "noise": float(np.mean([known.noise for known in self.hyperparameters])),
            "lengthscale_min": float(lengthscales.min()),
            "lengthscale_max": float(lengthscales.max()),
        }
