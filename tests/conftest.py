"""Settings of every test: one hypothesis profile, enforced annotations, and one browser."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Here alone: Playwright starts once in a process, and a fixture exists once for each conftest that names it.
from tests.browser import browser, open_page

# Before any module of the project is imported.
from tests.shapes import enforced_annotations

__all__ = ["browser", "enforced_annotations", "open_page"]

# Tests see the plain forms, those of `tests/gp/test_compiled.py` the machine code as well.
os.environ.setdefault("GPBANDIT_COMPILED", "0")

settings.register_profile(
    "ci", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")
