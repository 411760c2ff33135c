"""The description of a bandit problem: everything that a policy is allowed to know, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.arguments import LARGEST, as_count, as_number, as_truth, moderate, positive_number, shown
from gpbandit_envs.delays import Delay
from gpbandit_envs.gp.kernels import Kernel

Knowledge = Literal["oracle", "misspecified", "certified", "learned"]
KNOWLEDGE_LEVELS: tuple[Knowledge, ...] = ("oracle", "misspecified", "certified", "learned")

_SHOWN = ("kernel", "noise_std", "norm_bound", "horizon", "initial", "delay")


class Approximation(NamedTuple):
    """Some function of an RKHS is near the mean: its norm is at most `norm`, its error at most `distance` everywhere.

    Attributes:
        norm: Bound on the RKHS norm of that function under the stated kernel, > 0.
        distance: Bound on the largest difference to the mean less the stated prior mean, >= 0, unit of the reward.
    """

    norm: float
    distance: float

    def implies(self, other: Approximation) -> bool:
        """Whether a mean that this pair is true of is one that `other` is true of."""
        return self.norm <= other.norm and self.distance <= other.distance


@dataclass(frozen=True)
class NoiseTails:
    """Noise that is sub-Gaussian with a known constant: `E exp(a eps) <= exp(a^2 R^2 / 2)` for every number a.

    Its tails are then at most those of a normal variable of standard deviation R, `P(eps > z) <= exp(-z^2 / (2 R^2))`,
    and R is never below its own standard deviation. Bounds at all times rest on the first inequality, for feedback that
    is chosen by what was seen before. Where noise is Gaussian, a weighted sum of it is as well, and *both* of its tails
    together are at most `exp(-z^2 / (2 R^2))`; for other noise they are at most twice that.

    Attributes:
        sub_gaussian: The constant R, >= 0, unit of the reward; the largest, where it differs by arm.
        gaussian: Whether the noise of every action is Gaussian, with a standard deviation of at most R.

    Raises:
        TypeError: if `sub_gaussian` is no number.
        ValueError: if it is negative or not finite.
    """

    sub_gaussian: float
    gaussian: bool = False

    def __post_init__(self) -> None:
        constant = as_number("sub_gaussian", self.sub_gaussian, "a finite number >= 0", lambda R: R >= 0)
        object.__setattr__(self, "sub_gaussian", constant)


@dataclass(frozen=True, kw_only=True, eq=False)
class InitialData:
    """Evaluations from before the first step, which cost no regret: of finite arms, or of points of a box.

    Attributes:
        rewards: The noisy reward of each, shape `(n,)`, finite.
        arms: Their arms, shape `(n,)`, n >= 1, repeated where an arm was evaluated several times; None on a box.
        points: Their points of the unit cube, shape `(n, d)`, n >= 1; None on arms.
        sds: Standard errors of the rewards, shape `(n,)`, NaN where not known; None for none.

    Raises:
        ValueError: if not exactly one of arms and points is given, the shapes differ, there are none, an index is no
            integer or negative, a point is outside the unit cube, or a reward is not finite.
    """

    rewards: Float[np.ndarray, " n"]
    arms: Int[np.ndarray, " n"] | None = None
    points: Float[np.ndarray, "n d"] | None = None
    sds: Float[np.ndarray, " n"] | None = None

    def __post_init__(self) -> None:
        if (self.arms is None) == (self.points is None):
            given = "neither" if self.arms is None else "both"
            raise ValueError(f"arms, points: expected exactly one of them, got {given}")
        if self.arms is not None:
            arms = np.asarray(self.arms)
            if arms.ndim != 1 or len(arms) == 0 or arms.dtype.kind not in "iu" or arms.min() < 0:
                raise ValueError(f"arms: expected at least one index >= 0, shape (n,), got {arms.dtype} {arms.shape}")
            self._keep("arms", arms.astype(np.int64))
        else:
            points = np.array(self.points, dtype=np.float64)
            if points.ndim != 2 or len(points) == 0 or not ((points >= 0) & (points <= 1)).all():
                raise ValueError(f"points: expected points of the unit cube, shape (n, d), got shape {points.shape}")
            self._keep("points", points)
        try:
            rewards = np.array(self.rewards, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"rewards: expected numbers, got {shown(self.rewards)}") from None
        if rewards.shape != (len(self.actions),):
            what = "arms" if self.points is None else "points"
            raise ValueError(f"rewards: expected one for each of {len(self.actions)} {what}, got shape {rewards.shape}")
        if not moderate(rewards):
            worst = rewards[~(np.abs(rewards) <= LARGEST)][0]
            raise ValueError(f"rewards: expected finite numbers of at most {LARGEST:g} in size, got {worst}")
        self._keep("rewards", rewards)

    def _keep(self, name: str, array: np.ndarray) -> None:
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    @property
    def actions(self) -> np.ndarray:
        """The arms, or the points."""
        actions = self.arms if self.points is None else self.points
        assert actions is not None
        return actions

    def check_fit(self, problem: Problem) -> None:
        """Raise unless the data are of the arms, or of the box, of `problem`.

        Raises:
            ValueError: if they are not; the message says what was expected.
        """
        if problem.arms is None:
            if self.points is None:
                raise ValueError(f"initial: expected points, as {problem.name} is a box, got data of arms")
            if self.points.shape[1] != problem.dim:
                raise ValueError(f"initial: expected points of {problem.dim} coordinates, got {self.points.shape[1]}")
        elif self.arms is None:
            raise ValueError(f"initial: expected indices of arms, as {problem.name} has arms, got points")
        elif self.arms.max() >= len(problem.arms):
            raise ValueError(
                f"initial: expected data of the problem's {problem.n_arms} arms, got arm {self.arms.max()} among them"
            )

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return f"InitialData({len(self)} evaluations)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What a policy may know before its first evaluation.

    A problem is either finite (`arms` holds one row per arm and an action is an index) or a box
    (`arms` is None and an action is a point of the unit cube `[0, 1]^dim`).

    Attributes:
        name: Environment id, such as `"GPBandit/Abalone-v0"`.
        dim: Number of features `d` of an arm or coordinates of a point.
        arms: Candidate set, shape `(A, d)`, read-only; None on a box.
        kernel: Prior covariance offered to the policy; None if the policy must learn it.
        noise_std: Standard deviation of the feedback's noise, in units of the reward; None if unknown. Where it differs
            by arm, one for all: the largest, or that pooled from measurements.
        noise_stds: That of each arm, shape `(A,)`, read-only; None if it is the same for all, or unknown.
        noise_tails: The sub-Gaussian constant of the noise, and whether it is Gaussian; None if it has no such
            constant, as heavy tails have none, or none is known: then no theorem guarantees a confidence band.
        prior_mean: Constant `c` that the mean is about: `kernel`, `norm_bound` and `approximations` are statements
            about the mean less `c`, unit of the reward.
        norm_bound: Upper bound on the RKHS norm of the mean under `kernel`; None if unknown. Where the mean is only
            near the RKHS, `misspecification["sup"]` away from it, that of the function near by. It is that of a last
            approximation without distance.
        approximations: In place of one `norm_bound`, how near the mean is to functions of the RKHS: pairs of a norm
            and a distance, norms increasing and distances decreasing. `pairs` reads both ways of stating it.
        horizon: Number of evaluations `T`; None if it is unknown to the policy.
        knowledge: `"oracle"` if kernel and noise are the true ones, `"misspecified"` if they are wrong, by the
            factors in `misspecification` where those are known, `"certified"` if the kernel is a choice, of which
            `approximations` are proven facts, `"learned"` if they are a modelling choice or absent.
            It says nothing of `norm_bound`, nor of the tails of the noise.
        misspecification: Factor by which a stated quantity is wrong, such as `{"lengthscale": 2.0}`; further
            `"sup"`, the largest distance of the mean from a function that the stated prior describes, and
            `"corruption"`, the largest sum of the sizes of what an adversary adds to the feedback, both in units of
            the reward.
        neighbours: Row `i` holds the indices of the arms next to arm `i`, padded with -1; None if the arms have no
            neighbourhood of their own.
        contexts: Whether each step offers only some of the arms, of which the policy is told before it selects.
        time_varying: Whether the mean function changes from step to step.
        drift: Rate `eps` of a function that drifts, `f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}` with independent
            draws `g` of the prior; None if it does not, or the rate is unknown.
        notes: Further plain facts, such as the preprocessing of the features.
        initial: What was evaluated before the first step; None if nothing was.
        delay: What is known of a random delay of the feedback; None if feedback is not late, or not in that way.

    Raises:
        TypeError: if `kernel`, `noise_tails` or a truth value is something else.
        ValueError: if the fields contradict each other; the message names the field.
    """

    name: str
    dim: int
    arms: Float[np.ndarray, "A d"] | None = None
    kernel: Kernel | None = None
    noise_std: float | None = None
    noise_stds: Float[np.ndarray, " A"] | None = None
    noise_tails: NoiseTails | None = None
    prior_mean: float = 0.0
    norm_bound: float | None = None
    approximations: tuple[Approximation, ...] = ()
    horizon: int | None = None
    knowledge: Knowledge = "oracle"
    misspecification: Mapping[str, float] = field(default_factory=dict)
    neighbours: np.ndarray | None = None
    contexts: bool = False
    time_varying: bool = False
    drift: float | None = None
    notes: Mapping[str, object] = field(default_factory=dict)
    initial: InitialData | None = None
    delay: Delay | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", as_count("dim", self.dim))
        if self.arms is not None:
            arms = np.asarray(self.arms, dtype=np.float64)
            if arms.ndim != 2 or arms.shape[0] == 0:
                raise ValueError(f"arms: expected shape (A, d) with A >= 1, got {arms.shape}")
            if arms.shape[1] != self.dim:
                raise ValueError(f"arms: expected {self.dim} features as in dim, got shape {arms.shape}")
            if not moderate(arms):
                worst = arms[~(np.abs(arms) <= LARGEST)][0]
                raise ValueError(f"arms: expected finite features of at most {LARGEST:g} in size, got {worst}")
            if arms.flags.writeable:
                arms = arms.copy() if arms is self.arms else arms
                arms.flags.writeable = False
            object.__setattr__(self, "arms", arms)
        if self.noise_std is not None:
            noise_std = as_number("noise_std", self.noise_std, "a finite number >= 0", lambda noise_std: noise_std >= 0)
            object.__setattr__(self, "noise_std", noise_std)
        _check_noise(self)
        object.__setattr__(self, "prior_mean", as_number("prior_mean", self.prior_mean, "a finite number"))
        if self.norm_bound is not None:
            object.__setattr__(self, "norm_bound", positive_number("norm_bound", self.norm_bound))
        if self.horizon is not None:
            if isinstance(self.horizon, bool) or not isinstance(self.horizon, (int, np.integer)) or self.horizon < 1:
                raise ValueError(f"horizon: expected an integer >= 1 or None, got {shown(self.horizon)}")
            object.__setattr__(self, "horizon", as_count("horizon", self.horizon))
        _check_kernel(self)
        _check_domain(self)
        if self.knowledge not in KNOWLEDGE_LEVELS:
            raise ValueError(f"knowledge: expected one of {KNOWLEDGE_LEVELS}, got {self.knowledge!r}")
        for name in ("misspecification", "notes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _check_approximations(self)

    @property
    def pairs(self) -> tuple[Approximation, ...]:
        """`approximations`, or the one that `norm_bound` and `misspecification["sup"]` state; none if neither does."""
        if self.approximations or self.norm_bound is None:
            return self.approximations
        return (Approximation(self.norm_bound, self.misspecification.get("sup", 0.0)),)

    @property
    def is_finite(self) -> bool:
        """Whether actions are indices into `arms`."""
        return self.arms is not None

    @property
    def n_arms(self) -> int:
        """Number of arms `A`.

        Raises:
            ValueError: on a box, which has no arms.
        """
        if self.arms is None:
            raise ValueError(f"{self.name} is a box of dimension {self.dim}: it has no arms")
        return int(self.arms.shape[0])

    def __repr__(self) -> str:
        """What is stated, without the arms themselves, which may be a million."""
        what = f"{self.n_arms} arms of {self.dim} features" if self.is_finite else f"box of dimension {self.dim}"
        what += ", the mean changing" if self.time_varying else ""
        what += ", some of them offered at a time" if self.contexts else ""
        stated = {name: getattr(self, name) for name in _SHOWN}
        shown = [f"{name}={value!r}" for name, value in stated.items() if value is not None]
        shown += [f"prior_mean={self.prior_mean!r}"] if self.prior_mean else []
        shown += [f"approximations={[tuple(pair) for pair in self.approximations]}"] if self.approximations else []
        shown += [f"{name}={dict(getattr(self, name))!r}" for name in ("misspecification",) if getattr(self, name)]
        return f"Problem({', '.join([repr(self.name), what, *shown, f'knowledge={self.knowledge!r}'])})"

    def __getstate__(self) -> dict[str, object]:
        state = dict(self.__dict__)
        for name in ("misspecification", "notes"):
            state[name] = dict(state[name])
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        for name in ("misspecification", "notes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for array in (self.arms, self.noise_stds):
            if array is not None:
                array.flags.writeable = False


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Certified facts about one instance; for scoring and theory, never shown to a policy.

    Attributes:
        optimum: Largest mean over the domain, in units of the reward; NaN where it is unknown.
        optimal_action: Where it is attained: an arm's index, or a point of the unit cube as a tuple; `()` where it is
            unknown.
        optimum_tol: Bound on the error of `optimum`; 0 where it is exact, NaN where there is no bound.
        gap: Distance from the best mean to the best mean among all other arms; None on a box.
        norm: RKHS norm of the mean under the true kernel; None if unknown.
        facts: Further certified facts, such as `{"lengthscale": 0.2}`.
    """

    optimum: float
    optimal_action: int | tuple[float, ...]
    optimum_tol: float = 0.0
    gap: float | None = None
    norm: float | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def _check_noise(problem: Problem) -> None:
    if problem.noise_tails is not None and not isinstance(problem.noise_tails, NoiseTails):
        raise TypeError(f"noise_tails: expected NoiseTails or None, got {shown(problem.noise_tails)}")
    if problem.noise_stds is None:
        return
    if problem.arms is None:
        raise ValueError(f"noise_stds: expected None, as {problem.name} is a box, got a deviation for each arm")
    stds = np.array(problem.noise_stds, dtype=np.float64)
    if stds.shape != (problem.n_arms,) or not (moderate(stds) and (stds >= 0).all()):
        raise ValueError(f"noise_stds: expected {problem.n_arms} finite numbers >= 0, got {shown(stds)}")
    stds.flags.writeable = False
    object.__setattr__(problem, "noise_stds", stds)


def _check_kernel(problem: Problem) -> None:
    """Raise unless the kernel is one, and of as many features as the problem has."""
    if problem.kernel is None:
        return
    if not isinstance(problem.kernel, Kernel):
        raise TypeError(
            f"kernel: expected a Kernel or None, got {shown(problem.kernel)}; as_kernel makes one of a spec"
        )
    point = np.zeros((1, problem.dim))
    problem.kernel(point, point)  # one of other features would fail where a policy first asks it


def _check_domain(problem: Problem) -> None:
    """Raise unless what is stated besides the arms, or the box, fits them."""
    for name in ("contexts", "time_varying"):
        as_truth(name, getattr(problem, name))
    if problem.neighbours is not None:
        n, found = 0 if problem.arms is None else problem.n_arms, np.asarray(problem.neighbours)
        if (
            found.ndim != 2
            or len(found) != n
            or found.dtype.kind not in "iu"
            or not ((found >= -1) & (found < n)).all()
        ):
            raise ValueError(
                f"neighbours: expected a row of indices below {n}, or of -1, for each of {n} arms, got {found.dtype} "
                f"{found.shape}"
            )
    if problem.contexts and problem.arms is None:
        raise ValueError("contexts: expected a problem with arms, some of which a step offers, got a box")
    if problem.drift is not None:
        object.__setattr__(
            problem, "drift", as_number("drift", problem.drift, "a rate in [0, 1] or None", lambda rate: 0 <= rate <= 1)
        )
        if not problem.time_varying:
            raise ValueError(f"drift: expected None, as the mean does not change, got {problem.drift}")
    if problem.initial is not None:
        problem.initial.check_fit(problem)


def _check_approximations(problem: Problem) -> None:
    """Raise unless the pairs are in order and the norm bound is no second statement; one without distance is that."""
    for name, wrong in problem.misspecification.items():
        as_number(f"misspecification[{name!r}]", wrong, "a finite number >= 0", lambda size: size >= 0)
    pairs = _as_pairs(problem.approximations)
    object.__setattr__(problem, "approximations", pairs)
    for one, other in pairwise(pairs):
        if not (one.norm < other.norm and one.distance > other.distance):
            raise ValueError(
                f"approximations: expected norms that increase and distances that decrease, got {tuple(one)} before "
                f"{tuple(other)}"
            )
    if pairs and problem.norm_bound is None and pairs[-1].distance == 0:
        object.__setattr__(problem, "norm_bound", pairs[-1].norm)
    elif pairs and problem.norm_bound is not None and pairs[-1] != (problem.norm_bound, 0.0):
        raise ValueError(
            "norm_bound: expected None beside approximations, each of which has its norm and distance, got "
            f"{problem.norm_bound}"
        )


def _as_pairs(given: Any) -> tuple[Approximation, ...]:
    expected = "pairs of a norm > 0 and a distance >= 0"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"approximations: expected {expected}, got {shown(given)}")
    pairs = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"approximations: expected {expected}, got {shown(pair)}")
        norm, distance = (as_number("approximations", number, expected, lambda size: size >= 0) for number in pair)
        pairs.append(Approximation(positive_number("approximations", norm), distance))
    return tuple(pairs)
