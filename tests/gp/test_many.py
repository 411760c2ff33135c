"""Kernels and posteriors in other namespaces."""

from __future__ import annotations

import numpy as np
import pytest

from gpbandit_envs.arrays import Device, is_out_of_memory, special
from gpbandit_envs.gp import SE, ActiveDims, Linear, Matern, Polynomial, RationalQuadratic
from gpbandit_envs.gp import many as module
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.many import CovarianceRows

X = np.random.default_rng(0).random((12, 3))


@pytest.mark.parametrize("name", ["array_api_strict", "torch", "numpy"])
@pytest.mark.parametrize(
    "kernel",
    [
        SE((0.2, 0.3, 0.4)),
        Matern(0.3, 0.5),
        Matern(0.3, 1.5) + 2.0 * Matern(0.3, 2.5),
        RationalQuadratic(0.4, 2.0) * SE(0.5),
        Polynomial(3, 0.5, 0.7),
        ActiveDims(Linear(), (2, 0)),
        Matern(0.3, 1.1),
        ActiveDims(Matern(0.3, 1.1), (0,)),
        2.0 * (SE() + Matern(0.3, 1.1)),
    ],
    ids=str,
)
def test_rows_that_do_not_all_fit_are_those_of_the_kernel(
    kernel: Kernel, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name)
    monkeypatch.setattr(module, "_GRAM_BYTES", 0)
    device = Device(name)
    rows = device.get(CovarianceRows(kernel, X, device).take(device.put(np.array([3, 7, 3]))))
    np.testing.assert_allclose(rows, kernel(X[[3, 7, 3]], X), rtol=1e-12)


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_functions_that_the_standard_lacks(name: str) -> None:
    pytest.importorskip(name)
    device, x = Device(name), np.linspace(-3, 3, 7)
    np.testing.assert_allclose(device.get(special("ndtr", device.put(x))), special("ndtr", x), rtol=1e-12)


def test_memory_that_does_not_suffice_has_many_names() -> None:
    class OutOfMemoryError(RuntimeError): ...

    assert all(map(is_out_of_memory, (MemoryError(), OutOfMemoryError(), RuntimeError("can't allocate memory"))))
    assert not is_out_of_memory(RuntimeError("no"))
    assert Device().free_bytes() > 2**20
