"""Certificates of distances: what is proven of a table and a kernel, in JSON, and the check that needs no solver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_number, positive_number
from gpbandit_envs.certify.distance import Distance, bounds_of, distances
from gpbandit_envs.gp import as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Approximation

NORMS = (0.3, 1.0, 3.0, 10.0)
"""Norms at which the curve is computed, by default."""

_FORMAT = 1
_DECIMALS = 9  # of what is hashed: sums differ by rounding from processor to processor
_AGREES = 1e-9


def table_hash(arms: Float[np.ndarray, "A d"], means: Float[np.ndarray, " A"]) -> str:
    """SHA-256 of the features and means of all arms, as little-endian doubles rounded to nine decimals."""
    digest = hashlib.sha256(repr(arms.shape).encode())
    for values in (arms, means):
        digest.update((np.round(values, _DECIMALS) + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class DistanceCertificate:
    """What is proven of how near a table is to the functions of an RKHS.

    Attributes:
        kernel: JSON form of the kernel.
        prior_mean: The constant that is taken off the means.
        table: `table_hash` of the arms and their means.
        n_arms: Number of arms A.
        curve: Bounds on the distance for each norm, norms increasing, with the weights that prove them.
        made_from: The environment that it was made from, `{"id": ..., "kwargs": ...}`; {} if from arrays.
    """

    kernel: dict[str, Any]
    prior_mean: float
    table: str
    n_arms: int
    curve: tuple[Distance, ...]
    made_from: dict[str, Any]

    @property
    def approximations(self) -> tuple[Approximation, ...]:
        """The pairs that are stated: upper bounds, rounded up to three digits, without those that a smaller norm beats.

        A distance of exactly 0 is never among them, since it cannot be computed.
        """
        pairs: list[Approximation] = []
        for point in self.curve:
            distance = _rounded_up(point.upper)
            if not pairs or distance < pairs[-1].distance:
                pairs.append(Approximation(point.norm, distance))
        return tuple(pairs)

    def check(self, arms: Float[np.ndarray, "A d"], means: Float[np.ndarray, " A"]) -> None:
        """Prove all bounds again from the weights alone: one product with the kernel rows of their arms each.

        Raises:
            ValueError: if the table is another one, or weights do not prove what is stated; the message says which.
        """
        found = table_hash(arms, means)
        if found != self.table:
            raise ValueError(f"table: expected the hash {self.table[:12]}..., got {found[:12]}...: other arms or means")
        kernel, f = as_kernel(self.kernel), means - self.prior_mean
        for point in self.curve:
            if len(point.arms) and not (point.arms.min() >= 0 and point.arms.max() < self.n_arms):
                raise ValueError(f"arms: expected indices below {self.n_arms} at norm {point.norm:g}")
            lower, upper = bounds_of(kernel, arms, f, point.norm, point.arms, point.weights)
            for name, stated, proven in (("lower", point.lower, lower), ("upper", point.upper, upper)):
                if abs(stated - proven) > _AGREES * max(1.0, float(np.abs(f).max())):
                    raise ValueError(
                        f"{name}: expected the bound that the weights prove at norm {point.norm:g}, {proven:.12g}, got "
                        f"{stated:.12g}"
                    )

    def to_json(self) -> str:
        """The certificate as a JSON object, one point of the curve a line."""
        head = {
            "format": _FORMAT,
            "made_from": self.made_from,
            "kernel": self.kernel,
            "prior_mean": self.prior_mean,
            "table_sha256": self.table,
            "n_arms": self.n_arms,
        }
        points = [
            {
                "norm": point.norm,
                "lower": point.lower,
                "upper": point.upper,
                "arms": point.arms.tolist(),
                "weights": point.weights.tolist(),
            }
            for point in self.curve
        ]
        lines = ",\n  ".join(json.dumps(point, separators=(",", ":")) for point in points)
        return json.dumps(head, indent=1)[:-2] + f',\n "curve": [\n  {lines}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> DistanceCertificate:
        """The certificate of `to_json`.

        Raises:
            ValueError: if it is none.
        """
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise ValueError(f"format: expected {_FORMAT}, got {data['format']!r}")
            curve = tuple(
                Distance(
                    float(point["norm"]),
                    float(point["lower"]),
                    float(point["upper"]),
                    np.array(point["arms"], np.int64),
                    np.array(point["weights"], np.float64),
                )
                for point in data["curve"]
            )
            facts = data["kernel"], float(data["prior_mean"]), data["table_sha256"], int(data["n_arms"])
            return cls(*facts, curve, dict(data["made_from"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"certificate: expected a certificate of distances, got {error!r} in it") from None


def certify(
    kernel: Kernel,
    arms: Float[np.ndarray, "A d"],
    means: Float[np.ndarray, " A"],
    *,
    norms: Sequence[float] = NORMS,
    prior_mean: float | None = None,
    made_from: dict[str, Any] | None = None,
) -> DistanceCertificate:
    """Compute the certificate of a table.

    Seconds for up to 5,000 arms and norms up to 10; minutes for rough tables of tens of thousands.

    Args:
        kernel: Kernel of the RKHS.
        arms: Features of the arms.
        means: Their means.
        norms: Norms > 0.
        prior_mean: The constant that is taken off; None for the average of the means, to two decimals. It is read off
            the answers, as the rest of the certificate is.
        made_from: The environment behind it, for the record.

    Raises:
        ValueError: if a norm is not positive, or there is none.
    """
    wanted = sorted({positive_number("norms", norm) for norm in norms})
    if not wanted:
        raise ValueError("norms: expected at least one norm > 0, got none")
    c = round(float(means.mean()), 2) if prior_mean is None else as_number("prior_mean", prior_mean, "a finite number")
    curve = distances(kernel, arms, means - c, wanted)
    return DistanceCertificate(
        dict(kernel.to_spec()), c, table_hash(arms, means), len(arms), tuple(curve), made_from or {}
    )


def _rounded_up(distance: float) -> float:
    """The distance with three significant digits, not below it, and not below what can be computed."""
    distance = max(distance * (1 + 1e-9), 1e-9)
    digits = 2 - floor(log10(distance))
    return float(f"{ceil(distance * 10**digits - 1e-9) / 10**digits:.3g}") if digits < 300 else distance
