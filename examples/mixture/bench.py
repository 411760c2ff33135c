"""A stand-in for a laboratory: yield, cost and purity of a made-up reaction, with errors of measurement."""

import numpy as np

_rng = np.random.default_rng(3)


def run(p: dict) -> dict[str, float]:
    """What is measured at a point."""
    best, good, price = {"KOAc": (85, 70, 2), "CsOPiv": (70, 85, 25), "K3PO4": (100, 55, 6)}[p["base"]]
    polar, warm = p["water"] + 0.3 * p["dioxane"], (p["celsius"] - best) / 35
    fit = np.exp(-(warm**2) - ((polar - 0.45) / 0.25) ** 2 - 0.8 * (p["toluene"] - 0.35) ** 2)
    cost = 10 + price + 45 * p["dioxane"] + 18 * p["toluene"] + 3 * p["water"] + 0.12 * p["celsius"]
    purity = 99 - 14 * p["water"] ** 2 - 0.0012 * max(p["celsius"] - 60, 0) ** 2
    error = _rng.standard_normal(3)
    return {"yield": 8 + good * fit + error[0], "cost": cost + 0.5 * error[1], "purity": purity + 0.2 * error[2]}
