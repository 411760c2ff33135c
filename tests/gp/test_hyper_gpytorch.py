"""The likelihood and its gradient against GPyTorch's, where it is installed (`pip install '.[botorch]'`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from gpbandit_envs.gp.hyperparameters import Hyperparameters, LogMarginalLikelihood
from gpbandit_envs.gp.observations import Observations

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    gpytorch = pytest.importorskip("gpytorch", reason="gpytorch is not installed; pip install '.[botorch]'")


@pytest.mark.parametrize(("family", "nu"), [("matern52", 2.5), ("matern32", 1.5), ("se", math.inf)])
def test_likelihood_and_gradient_agree_with_gpytorch(family: str, nu: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((35, 3)), rng.standard_normal(35)
    known = Hyperparameters(1.7, 0.2, (0.4, 0.5, 1.3))
    values = {
        "variance": torch.tensor(known.variance, dtype=torch.float64, requires_grad=True),
        "noise": torch.tensor(known.noise, dtype=torch.float64, requires_grad=True),
        "lengthscales": torch.tensor(known.lengthscales, dtype=torch.float64, requires_grad=True),
    }
    base: Any = gpytorch.kernels.RBFKernel if math.isinf(nu) else gpytorch.kernels.MaternKernel
    kernel = base(ard_num_dims=3) if math.isinf(nu) else base(nu=nu, ard_num_dims=3)
    # The values themselves, not GPyTorch's transformed parameters, so that gradients are with respect to them.
    del kernel.raw_lengthscale
    kernel.raw_lengthscale = kernel.raw_lengthscale_constraint.inverse_transform(values["lengthscales"][None])
    inputs = torch.from_numpy(X)
    K = values["variance"] * kernel(inputs).to_dense() + values["noise"] * torch.eye(35, dtype=torch.float64)
    normal = gpytorch.distributions.MultivariateNormal(torch.zeros(35, dtype=torch.float64), K)
    expected = normal.log_prob(torch.from_numpy(y))
    expected.backward()
    slopes = np.concatenate([np.atleast_1d(v.grad.numpy() * v.detach().numpy()) for v in values.values()])
    value, gradient = LogMarginalLikelihood(Observations.of(X, y), family)(known.vector())
    assert value == pytest.approx(expected.item(), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-7)
