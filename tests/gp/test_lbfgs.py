"""L-BFGS-B: every step is SciPy's own."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from gpbandit_envs.gp.lbfgs import minimise_within


def test_every_step_is_scipys() -> None:
    asked: list[np.ndarray] = []

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        asked.append(x.copy())
        return float(rosen(x)), rosen_der(x)

    start, bounds = np.array([-1.2, 1.0, 0.5]), [(-2.0, 0.7)] * 3
    ours = minimise_within(loss, start, bounds, maxiter=30, ftol=1e-10)
    steps = asked.copy()
    asked.clear()
    theirs = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30, "ftol": 1e-10})
    np.testing.assert_array_equal(steps, asked)
    np.testing.assert_array_equal(ours.x, theirs.x)
    assert ours.fun == theirs.fun
