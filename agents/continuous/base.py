"""What the policies on boxes share: the data, the posterior, and the search for the next point."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.guarantees import BandGuarantee
from agents.core.maximise import Acquisition, Values, maximise, search_domain
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.settings import GivenModel, NormBound, as_count
from agents.core.widths import WidthSchedule
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem

__all__ = ["BoxAgent"]

_AROUND, _JITTER = 4, 0.03


class BoxAgent(Agent):
    """Plays `argmax` of an acquisition function over the unit cube, one point at a time.

    Where the card's notes state the domain, integer coordinates are played at their levels.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the card's.
        lam: Noise variance in the posterior; None for the card's `noise_std ** 2`.
        norm_bound: Bound on the RKHS norm; None for the card's, or 1.
        delta: Allowed probability of failure; None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Points drawn uniformly before the first acquisition.
        candidates: Sobol points at which the acquisition function is evaluated first.
        starts: Points from which it is climbed.
        iterations: Most steps of a climb.

    Attributes:
        X: Points whose evaluation did not fail, shape (n, d).
        y: Their feedback, shape (n,).
        posterior: The exact posterior given them.
        information_gain: `0.5 logdet(I + K_t / lam)`, in nats.
        sum_log_3_leverage: `sum_s log(1 + 3 lev_{s-1}(x_s))`.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither card nor argument states what is needed.
    """

    capabilities = Capabilities(frozenset({"box"}), batch="sequential", needs=frozenset({"kernel", "noise"}))
    band: float = 1.96
    """Half-width of the confidence band that `predict` states, in standard deviations."""
    schedule: WidthSchedule | None = None
    width_setting: str = ""

    def __init__(
        self,
        *,
        kernel: Any,
        lam: float | None,
        norm_bound: NormBound,
        delta: float | None,
        n_start: int,
        candidates: int,
        starts: int,
        iterations: int,
    ) -> None:
        self._given = GivenModel(kernel, lam, norm_bound, delta)
        search = {"candidates": candidates, "starts": starts, "iterations": iterations}
        self.kernel = self._given.kernel
        self.lam = lam or 0.0  # 0 until the card has been read
        self.n_start = as_count("n_start", n_start, 0)
        self.search = {name: as_count(name, number) for name, number in search.items()}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if problem.is_finite:
            raise ValueError(f"problem: {type(self).__name__} needs a box, {problem.name} has {problem.n_arms} arms")
        self.problem, self.rng = problem, rng
        self.model = self._given.on(problem)
        self.lam = self.model.lam
        self.domain = search_domain(problem)
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        self.information_gain = self.sum_log_3_leverage = 0.0
        self._fit()

    def _fit(self) -> None:
        """Bring the posterior up to date with `X` and `y`."""
        self.posterior = GPRegression(self.model.kernel, self.X, self.y, self.lam)
        self._means = self.posterior.at(self.X)[0] if len(self.X) else np.zeros(0)

    @abstractmethod
    def _acquisition(self) -> tuple[Acquisition, Values]:
        """The acquisition function with its gradients, and its values alone."""

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros((0, self.problem.dim))
        if len(self.y) < self.n_start:
            return self.domain.snap(self.rng.random((1, self.problem.dim)))
        acquisition, values = self._acquisition()
        x, _ = maximise(
            acquisition,
            self.domain,
            self.rng,
            extra=self._around_the_best(),
            values=values,
            **self.search,
        )
        return x[None]

    def _around_the_best(self) -> Float[np.ndarray, "k d"] | None:
        """Candidates near the best points, where an acquisition function that has narrowed down is large."""
        if len(self.y) == 0:
            return None
        best = self.X[np.argsort(-self._means, kind="stable")[:_AROUND]]
        return np.clip(best + _JITTER * self.rng.standard_normal(best.shape), 0.0, 1.0)

    def observe(self, feedback: Feedback) -> None:
        # In the order of the tickets, so that nothing depends on the order within a delivery.
        for i in np.argsort(feedback.tickets):
            if feedback.failed[i]:
                continue
            x = feedback.actions[i : i + 1]
            variance = float(self.posterior.at(x)[1][0])
            self.information_gain += 0.5 * float(np.log1p(variance / self.lam))
            self.sum_log_3_leverage += float(np.log1p(3 * variance / self.lam))
            self.X, self.y = np.concatenate([self.X, x]), np.append(self.y, feedback.rewards[i])
            self._fit()

    def recommend(self) -> Action:
        """The evaluated point of largest posterior mean; the middle of the box before any feedback."""
        if len(self.y) == 0:
            middle: np.ndarray = self.domain.snap(np.full((1, self.problem.dim), 0.5))[0]
            return middle
        best: np.ndarray = self.X[int(np.argmax(self._means))]
        return best

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(np.asarray(X, np.float64))
        return mean, self.band * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return self._given.band_guarantee(self.width_setting, self.schedule, self.model.delta)

    def diagnostics(self) -> Mapping[str, float]:
        return {"information_gain": self.information_gain, "width": self.band}

    def state_dict(self) -> dict[str, Any]:
        return {
            "rng": self.rng.bit_generator.state,
            "X": self.X.copy(),
            "y": self.y.copy(),
            "information_gain": self.information_gain,
            "sum_log_3_leverage": self.sum_log_3_leverage,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rng.bit_generator.state = state["rng"]
        self.X, self.y = np.array(state["X"], np.float64), np.array(state["y"], np.float64)
        self.information_gain = float(state["information_gain"])
        self.sum_log_3_leverage = float(state["sum_log_3_leverage"])
        self._fit()
