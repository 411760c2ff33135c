"""A stand-in for a laboratory: 1,728 reactions, and a yield for each. Two of the reactions that are run go wrong."""

from itertools import count, product

import numpy as np
import pandas as pd

_BASES, _LIGANDS, _SOLVENTS = [f"base {c}" for c in "ABCD"], [f"ligand {i}" for i in range(1, 13)], list("WXYZ")
_LEVELS = {
    "base": _BASES,
    "ligand": _LIGANDS,
    "solvent": _SOLVENTS,
    "molarity": [0.05, 0.1, 0.15],
    "celsius": [90, 105, 120],
}
REACTIONS = pd.DataFrame(list(product(*_LEVELS.values())), columns=list(_LEVELS))

_rng = np.random.default_rng(7)
_effects = {
    name: dict(zip(_LEVELS[name], _rng.normal(0, s, len(_LEVELS[name])))) for name, s in zip(_LEVELS, (8, 18, 8))
}
_pairs = {(base, ligand): _rng.normal(0, 6) for base in _BASES for ligand in _LIGANDS}
_runs = count(1)


def true_yield(reaction: dict) -> float:
    """Percent, without the error of the measurement."""
    chosen = sum(_effects[name][reaction[name]] for name in _effects) + _pairs[reaction["base"], reaction["ligand"]]
    amounts = 0.2 * (reaction["celsius"] - 105) + 60 * (reaction["molarity"] - 0.1)
    return float(np.clip(45 + chosen + amounts, 0, 100))


def run(reaction: dict) -> float | None:
    """The measured yield; None for the 11th and the 42nd run, whose vials broke."""
    return None if next(_runs) in (11, 42) else true_yield(reaction) + _rng.normal(0, 0.5)
