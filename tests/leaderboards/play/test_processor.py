"""Processes that compute as every x86-64-v3 processor can get the same bits whatever this one has."""

import os
import subprocess
import sys

import pytest

from leaderboards.play.processor import portable_environment

TORCH = """
import hashlib, torch
x = torch.linspace(0, 3, 37 * 6, dtype=torch.float64).sin().reshape(37, 6)
k = torch.exp(-torch.cdist(x, x) ** 2) + 1e-4 * torch.eye(37, dtype=torch.float64)
parts = x @ x.T, torch.linalg.cholesky(k), torch.linalg.eigvalsh(k), torch.exp(x), torch.erf(x)
print(*(hashlib.sha256(part.contiguous().numpy().tobytes()).hexdigest() for part in parts))
"""


@pytest.mark.skipif(not portable_environment(), reason="needs an x86-64 processor with AVX2 and FMA")
def test_torch_computes_alike_whatever_instructions_its_mkl_may_use() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    if not torch.backends.mkl.is_available():
        pytest.skip("this PyTorch was built without MKL")

    def bits(allowed: str) -> str:
        environment = os.environ | portable_environment() | {"MKL_ENABLE_INSTRUCTIONS": allowed, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", TORCH], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert bits("SSE4_2") == bits("AVX2")
