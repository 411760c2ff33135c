"""Writes docs/figures/gallery/*.png from what `gpbandit figures` has drawn.

python docs/gallery.py RESULTS   # the folder that holds the results folders of the suites, such as results

Which figures, and the commands that make them, stand in docs/gallery.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).resolve().parent / "gallery.md"
_FIGURE = re.compile(r"\]\((figures/gallery/(?P<suite>[\w-]+)\.(?P<figure>\w+)\.png)\)")
_COLOURS = 64  # a third of the bytes, and no difference to the eye


def main() -> None:
    """Write all figures of the page."""
    results = Path(sys.argv[1])
    for figure in _FIGURE.finditer(PAGE.read_text(encoding="utf-8")):
        drawn = Image.open(results / figure["suite"] / "figures" / f"{figure['figure']}.png").convert("RGB")
        to = PAGE.parent / figure[1]
        to.parent.mkdir(parents=True, exist_ok=True)
        drawn.quantize(_COLOURS, dither=Image.Dither.NONE).save(to, "PNG", optimize=True)


if __name__ == "__main__":
    main()
