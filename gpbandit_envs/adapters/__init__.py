"""Tasks of this package as the benchmark problems of other libraries, each an optional extra.

| function | gives | extra |
|---|---|---|
| `to_botorch` | a `botorch.test_functions.SyntheticTestFunction` | `botorch` |
| `to_optunahub` | an `optunahub.benchmarks.BaseProblem` | `optunahub` |
| `to_ioh` | an IOHexperimenter problem, as `ioh.wrap_problem` gives | `ioh` |

A problem is one instance: the mean function that `seed` draws. Points are in true units, values are to be maximised,
the noise is the environment's own, from its own stream. What another library has no form for is refused: contexts,
means that change, late feedback.
"""

from gpbandit_envs.adapters.convert import to_botorch, to_ioh, to_optunahub

__all__ = ["to_botorch", "to_ioh", "to_optunahub"]
