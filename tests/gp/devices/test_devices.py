"""Posteriors on a device choose what posteriors in NumPy choose."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from gpbandit_envs.gp import SE, Kernel, Linear, Matern, Polynomial, RationalQuadratic, as_kernel
from gpbandit_envs.gp.devices import OnDevice
from gpbandit_envs.gp.devices.rows import DeviceRows
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernel_rows import KernelRows, kernel_rows
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play

X = np.random.default_rng(0).random((150, 2))
MEAN = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=1.5, horizon=80)


def _has_cuda() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def _device(name: str, missing: bool, reason: str) -> Any:
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=reason), id=name)


DEVICES = [
    "array_api_strict",
    _device("torch", importlib.util.find_spec("torch") is None, "PyTorch is not installed"),
    _device("torch:cuda", not _has_cuda(), "PyTorch finds no CUDA device"),
    _device("cupy", importlib.util.find_spec("cupy") is None, "CuPy is not installed"),
]
device = pytest.mark.parametrize("device", DEVICES)


@device
@pytest.mark.parametrize(
    "kernel",
    [
        SE((0.2, 0.5)),
        Matern(0.3, 0.5),
        Matern(0.3, 1.5),
        Matern((0.3, 1.0), 2.5),
        RationalQuadratic(0.2, 0.7),
        2.0 * SE(0.1) + Linear(0.5) * Polynomial(3, 1.0, (1.0, 2.0)),
    ],
    ids=repr,
)
def test_kernels(device: str, kernel: Kernel) -> None:
    there = OnDevice(kernel, device)
    np.testing.assert_allclose(there(X[:20], X), kernel(X[:20], X), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(there.diag(X), kernel.diag(X))
    assert as_kernel(there.to_spec()) == there


@device
@pytest.mark.parametrize("max_memory", [None, 5 * 8 * 150])
def test_rows(device: str, max_memory: int | None) -> None:
    """Rows kept on the device, and rows beyond the budget."""
    there = kernel_rows(OnDevice(Matern(0.3), device), X, max_memory)
    assert isinstance(there, DeviceRows)
    here = KernelRows(Matern(0.3), X)
    rng = np.random.default_rng(1)
    for arms in np.split(rng.permutation(150)[:120], 60):
        np.testing.assert_array_equal(there.add(arms), here.add(arms))
    np.testing.assert_allclose(there.gram, here.gram, rtol=1e-13)
    few = np.array([3, 110, 40])
    for C, positions in ((rng.random((4, 120)), None), (rng.random((2, 60)), None), (rng.random((2, 3)), few)):
        np.testing.assert_allclose(there.product(C, positions), here.product(C, positions), rtol=1e-12)
    assert there.n_kept == (120 if max_memory is None else 5)
    np.testing.assert_allclose(there.at(few, np.arange(7)), here.at(few, np.arange(7)), rtol=1e-13)
    again = np.array([3, 149, 3, 40])
    np.testing.assert_allclose(there.take(again), here.take(again), rtol=1e-13)
    out = np.empty((4, 150))
    assert there.take(again, out=out) is out


@device
@pytest.mark.parametrize(
    ("policy", "kwargs"),
    [
        ("GP-UCB", {}),
        ("GP-UCB", {"width": "practical"}),
        ("GP-AUCB", {}),
        ("GP-BUCB", {"batch_size": 5}),
        ("BKB", {"width": "practical"}),
        ("BBKB", {"width": "practical"}),
        ("BBKB-GlobalLocal", {"width": "practical"}),
        ("BPE", {"width": 1.5}),
    ],
)
def test_the_same_choices(device: str, policy: str, kwargs: dict[str, Any]) -> None:
    here = play(agents.make(policy, kernel=SE(0.3), **kwargs), PROBLEM, noisy(MEAN, 0.1, 1), 2)
    there = play(agents.make(policy, kernel=OnDevice(SE(0.3), device), **kwargs), PROBLEM, noisy(MEAN, 0.1, 1), 2)
    assert there == here


@device
def test_the_card_may_name_the_device(device: str) -> None:
    problem = replace(PROBLEM, kernel=as_kernel({"name": "on_device", "kernel": SE(0.3).to_spec(), "device": device}))
    assert play(agents.make("GP-UCB"), problem, noisy(MEAN, 0.1, 1), 2) == play(
        agents.make("GP-UCB"), PROBLEM, noisy(MEAN, 0.1, 1), 2
    )


@device
def test_a_posterior_lives_there(device: str) -> None:
    posterior = ExactPosterior(OnDevice(SE(0.3), device), X, 0.01)
    assert isinstance(posterior.rows, DeviceRows)
    assert type(ExactPosterior(SE(0.3), X, 0.01).rows) is KernelRows


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ImportError, match=r"no_such_namespace"):
        OnDevice(SE(), "no_such_namespace")
    with pytest.raises(ValueError, match="cannot hold an array"):
        OnDevice(SE(), "array_api_strict:nowhere")
    with pytest.raises(TypeError, match="device: expected a name"):
        OnDevice(SE(), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Matern with nu"):
        OnDevice(Matern(1.0, 0.7), "array_api_strict")
