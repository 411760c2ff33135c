"""What a posterior over arms says at its own arms is what it keeps of them, in arrays of the caller's own."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.gp.arm_posterior import ArmPosterior


def assert_kept(posterior: ArmPosterior, X: np.ndarray) -> None:
    """`X` are its arms, in its own array or in another."""
    mean, variance = posterior.at(X)
    np.testing.assert_array_equal(mean, posterior.mean)
    np.testing.assert_array_equal(variance, posterior.variance)
    mean[:], variance[:] = 7.0, 7.0
    assert (posterior.mean != 7).all()
    assert (posterior.variance != 7).all()
