"""Settings of every test: one hypothesis profile, enforced annotations, and one browser."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# Here alone: Playwright starts once in a process, and a fixture exists once for each conftest that names it.
from tests.browser import browser, open_page

# Before any module of the project is imported.
from tests.shapes import enforced_annotations

__all__ = ["browser", "enforced_annotations", "open_page"]

# A shell starts what it puts into the background with Ctrl-C ignored, and so would be all commands that tests stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the Makefile has it: beside another worker, BLAS with several threads takes ten times as long for small matrices.
if "OPENBLAS_NUM_THREADS" not in os.environ:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    threadpool_limits(1, "blas")  # a plugin has loaded that of NumPy already

settings.register_profile(
    "ci", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Ends what pytest-cov began before it knew that this is a worker, and would leave beside what it begins next.

    Nothing that the first records is kept; `no_cover` pauses the second alone, and a paused test took as long as any.
    """
    plugin = session.config.pluginmanager.get_plugin("_cov")
    if hasattr(session.config, "workerinput") and plugin is not None and plugin.cov_controller is not None:
        plugin.cov_controller.pause()


TRACED = 1
"""Cases of one test whose lines coverage records: tracing is a third of a test's time, and others repeat them.

Tests that read whole boards say `no_cover` themselves: one loop over thousands of rows is half of their time.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves all but the first case of a test out of coverage, which is then of fewer lines than are tested."""
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] > TRACED:
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish() -> None:
    """Has the garbage collector pass over modules and tests, which stay: a whole collection took .4 s, each time.

    And look less often: it took four in a hundred of the time that was left.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


_FAILED: dict[Any, Any] = {}
"""Sources that were asked in vain: without a network each may take ten seconds of tries, and dozens of tests ask."""


@contextmanager
def _out_of_coverage(item: pytest.Item) -> Iterator[None]:
    """Leaves the fixtures of what `no_cover` marks out of coverage too: some read whole boards. pytest-cov does not."""
    plugin = item.config.pluginmanager.get_plugin("_cov")
    if plugin is None or plugin.cov_controller is None or item.get_closest_marker("no_cover") is None:
        yield
        return
    plugin.cov_controller.pause()
    try:
        yield
    finally:
        plugin.cov_controller.resume()


@contextmanager
def _data_at_hand(item: pytest.Item) -> Iterator[None]:
    """Skips what is said to fetch data where they cannot be fetched; elsewhere that is a failure."""
    if item.get_closest_marker("network") is None:
        yield
        return
    from gpbandit_envs.datasets import FetchError, download

    failed = dict(_FAILED)
    asked = download._failed.set(failed)
    try:
        yield
    except FetchError as error:
        _FAILED.update(failed)  # only here: another test may want a failure
        pytest.skip(error.reason)
    finally:
        download._failed.reset(asked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("cuda") and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no graphics card")
    with _data_at_hand(item), _out_of_coverage(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _data_at_hand(item):
        return (yield)


@pytest.fixture
def own_ids() -> Iterator[None]:
    """What a test registers is forgotten."""
    import gymnasium as gym

    known = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(known)
