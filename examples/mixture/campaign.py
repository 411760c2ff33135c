"""A mixture of three solvents with a base: much yield at little cost, within 40; eight plates of eight."""

from bench import run

import agents

lab = agents.Experiment(
    {"dioxane": (0, 1), "toluene": (0, 1), "water": (0, 1), "celsius": (20, 120), "base": ["KOAc", "CsOPiv", "K3PO4"]},
    outcome={"yield": "max", "cost": ("min", "<= 40"), "purity": ">= 90"},
    constraints=[agents.mixture("dioxane", "toluene", "water"), "water <= 0.6"],
)
for plate in range(8):
    for point in lab.ask(8, fixed={"base": "KOAc"} if plate == 0 else None):  # the others come tomorrow
        lab.tell(point, run(point))
    lab.save("lab.json")
print(lab.pareto().round(2).to_string())
for outcome in lab.outcomes:
    print(lab.check(outcome))
