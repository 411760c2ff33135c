"""What is known of the tails of noise, which decides whether a confidence band can be proven."""

from __future__ import annotations

from dataclasses import dataclass

from gpbandit_envs.arguments import as_number

__all__ = ["NoiseTails"]


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
