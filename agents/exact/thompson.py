"""Thompson sampling: every evaluation is the maximiser of its own draw from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from agents.core.gp_agent import GPAgent
from agents.core.gp_settings import BandFields
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.space import SearchFields
from agents.core.widths import SEQUENTIAL_WIDTHS, as_width
from gpbandit_envs.arguments import as_count
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.features import draw_fourier_sample
from gpbandit_envs.gp.linalg import low_rank_root
from gpbandit_envs.problem import Problem


class JointDraws:
    """Draws from the posterior as a prior draw plus the correction by the data (Matheron's rule).

    The prior draw comes from a pivoted Cholesky factor of small rank plus an independent remainder on each arm.

    Args:
        kernel: Prior covariance.
        X: Features of the arms, shape (A, d).
        max_rank: Largest rank r of the factor; memory is A r floats.

    Reference: Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], max_rank: int = 1_000) -> None:
        self._root, remaining = low_rank_root(kernel, X, 1e-8, max_rank)
        self._remaining = np.sqrt(remaining)

    def draw(
        self, posterior: ExactPosterior, count: int, rng: np.random.Generator, scale: float = 1.0
    ) -> Float[np.ndarray, "count A"]:
        """`count` draws from `posterior`, of the same kernel and arms; deviations from its mean are times `scale`."""
        draws = rng.standard_normal((count, self._root.shape[1])) @ self._root.T
        draws += self._remaining * rng.standard_normal(draws.shape)
        pulled = posterior.distinct()
        if len(pulled):
            noise = np.sqrt(posterior.lam / posterior.n[pulled])
            seen = draws[:, pulled] + noise * rng.standard_normal((count, len(pulled)))
            draws -= posterior.interpolate(seen)
        draws *= scale
        draws += posterior.mean
        return draws


@dataclass(kw_only=True, eq=False, repr=False)
class GPTS(SearchFields, GPAgent):
    """Thompson sampling: evaluate the maximiser of a joint draw from the posterior, one arm or point at a time.

    On finite arms this is ASYNC-TS with one worker. On a box the draw is a sample path: a prior sample by random
    Fourier features plus the exact correction by the data, whose gradients are known. Other arguments: see `GPAgent`.

    Args:
        n_features: On a box, random features of a path.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.
        TypeError: at `reset` on a box, if the kernel has no random features.

    References: Chowdhury and Gopalan (2017), Algorithm 2, without its factor of the standard deviation; Wilson et al.
    (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )
    not_saved = GPAgent.not_saved | {"_draws"}
    n_features: int = 1_024

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_features = as_count("n_features", self.n_features, most=100_000)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        if problem.arms is not None:
            self._draws = JointDraws(self.model.kernel, problem.arms)
        else:
            draw_fourier_sample(self.model.kernel, problem.dim, 1, np.random.default_rng(0))  # refuses other kernels

    def next_actions(self, n: int, pending: Pending) -> Actions:
        self.batch_closed = True
        if len(pending):
            return self.no_actions
        if not self.problem.is_finite:
            return self.beliefs.box.maximise_draw(self.n_features, self.rng)
        draw = self._draws.draw(self.exact, 1, self.rng)[0]
        return np.array([self.beliefs.offered.best(self.beliefs.offered.of(draw))])


@dataclass(kw_only=True, eq=False, repr=False)
class AsyncTS(BandFields, GPAgent):
    """Thompson sampling with up to `batch_size` evaluations open: pull the maximiser of a joint posterior draw.

    A draw is a prior draw plus the posterior's correction for what it misses at the pulled arms (Matheron's rule), so
    it is joint over all arms without their A x A covariance. The prior draw comes from a pivoted Cholesky factor of
    small rank plus an independent remainder. The norm bound, a number, and `delta` are for a named width. Other
    arguments: see `GPAgent`.

    Args:
        batch_size: Largest number of open evaluations; 30 in the BBKB experiments.
        width: How far a draw deviates from the posterior mean, in posterior standard deviations: 1 for Thompson
            sampling, another number, or a width of GP-UCB as theory needs it (Chowdhury and Gopalan 2017, Algorithm 2).
            The BBKB experiments take a tenth of one, `{"name": "practical", "scale": 0.1}`.
        max_rank: Largest rank of the prior's factor; memory is A times it.

    Attributes:
        draw_width: The width of the draws since the last feedback; the band of `predict` is that of the posterior.

    Reference: Kandasamy et al. (2018), Parallelised Bayesian optimisation via Thompson sampling, Algorithm 2; Wilson et
    al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    policy_family = "Thompson sampling"
    capabilities = Capabilities(
        frozenset({"finite"}), batch="adaptive", delayed=True, needs=frozenset({"kernel", "noise"})
    )
    not_saved = GPAgent.not_saved | {"_draws", "schedule", "width", "norm_bound"}
    batch_size: int = 30
    width: object = 1.0
    max_rank: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule = as_width(self.width, SEQUENTIAL_WIDTHS)
        self.batch_size = as_count("batch_size", self.batch_size)
        self.max_rank = as_count("max_rank", self.max_rank)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self._draws = JointDraws(self.model.kernel, self.arms.features, self.max_rank)

    def begin_batch(self) -> None:
        super().begin_batch()
        self.draw_width = self.schedule(self.beliefs.width_context(norm_bound=self.model.norm_bound))

    def next_actions(self, n: int, pending: Pending) -> Actions:
        count = min(n, self.batch_size - len(pending))
        return np.argmax(self.draw(count), axis=1) if count > 0 else self.no_actions

    def draw(self, count: int) -> Float[np.ndarray, "count A"]:
        """Joint draws from the posterior at all arms, their deviation from the mean times `draw_width`."""
        return self._draws.draw(self.exact, count, self.rng, self.draw_width)
