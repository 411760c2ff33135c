"""GP-EI."""

from __future__ import annotations

from dataclasses import dataclass

from agents.core.acquisition import LogExpectedImprovement
from agents.core.gp_agent import GPAgent
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.space import SearchFields


@dataclass(kw_only=True, eq=False, repr=False)
class GPEI(SearchFields, GPAgent):
    """Evaluate the arm or point of largest expected improvement over the largest posterior mean of an evaluated one.

    With noisy feedback the largest reward is no incumbent: it is likely to owe its size to the noise. Arguments: see
    `GPAgent`.

    Reference: Jones, Schonlau and Welch (1998), Efficient global optimization of expensive black-box functions; the
    incumbent: Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation, section 2.
    """

    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )
    side_by_side = True

    def next_actions(self, n: int, pending: Pending) -> Actions:
        self.batch_closed = True
        if len(pending):
            return self.no_actions
        return self.beliefs.maximise(LogExpectedImprovement(self.beliefs.incumbent), self.rng)
