"""Draws the table that ships as the example of a data set: a plate of 96 wells, 48 settings in two wells each.

`python docs/draw_plate.py` writes it again, the same bytes each time. The mean yield is smooth in pH and temperature,
with another optimum in each buffer; two wells of one setting differ by noise of standard deviation 2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[1] / "gpbandit_envs" / "datasets" / "cards" / "DrawnPlate.csv"
SEED = 96
_BEST = {"acetate": (5.0, 45.0, 62.0), "phosphate": (6.9, 37.0, 88.0), "tris": (8.1, 31.0, 74.0)}


def text() -> str:
    """The table as CSV: one well a line."""
    rng = np.random.default_rng(SEED)
    lines = ["buffer,ph,temperature,yield"]
    for buffer, (ph, temperature, top) in _BEST.items():
        for x in (5.0, 6.0, 7.0, 8.0):
            for y in (25.0, 33.0, 41.0, 49.0):
                mean = top * np.exp(-0.5 * (((x - ph) / 1.4) ** 2 + ((y - temperature) / 11.0) ** 2))
                lines += [f"{buffer},{x:.0f},{y:.0f},{mean + 2.0 * rng.standard_normal():.1f}" for _ in range(2)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8", newline="\n")
