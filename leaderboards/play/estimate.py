"""How long runs take, from how long others took."""

from __future__ import annotations

from leaderboards.play.spec import RunSpec, canonical_json

__all__ = ["Estimate"]


class Estimate:
    """Mean seconds of an evaluation, for each pair of environment and agent, each agent, and all."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, spec: RunSpec, seconds: float) -> None:
        """Take in that `spec` took `seconds`."""
        for name in self._levels(spec):
            total, evaluations = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + seconds, evaluations + spec.horizon)

    def seconds(self, spec: RunSpec) -> float | None:
        """Expected seconds of `spec` by its pair, else by its agent, else by all; None if nothing ran yet."""
        for name in self._levels(spec):
            if name in self._sums:
                total, evaluations = self._sums[name]
                return total / evaluations * spec.horizon
        return None

    def known(self, spec: RunSpec) -> bool:
        """Whether a run of the same pair was taken in."""
        return self._levels(spec)[0] in self._sums

    @staticmethod
    def _levels(spec: RunSpec) -> tuple[str, str, str]:
        agent = canonical_json(spec.agent.identity)
        return canonical_json(spec.env.identity) + agent, agent, ""
