"""Folders of runs with their sites."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboards.audit.store import audit_runs
from leaderboards.play.suite import parse_suite
from leaderboards.show import build_page
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;'\""


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of real runs under three regimes of feedback and a wrong kernel, audited, with its site."""
    directory = tmp_path_factory.mktemp("real")
    kwargs = {"n_arms": 40, "dim": 1}
    wrong = {**kwargs, "misspecification": {"lengthscale": 3.0}}
    sample = {"id": "GPBandit/GPSample-v0", "kwargs": kwargs}
    suite = parse_suite(
        {
            "name": "real",
            "horizon": 60,
            "repetitions": 6,  # with fewer no test tells agents apart, and no interval is shown
            "environments": [
                {**sample, "feedback": "batch:1"},
                {**sample, "label": "GPSample, delay 8", "feedback": "delay:8"},
                {**sample, "label": "GPSample, batches of 8", "feedback": "batch:8"},
                {"id": "GPBandit/RKHS-v0", "kwargs": wrong, "label": "RKHS, lengthscale × 3"},
            ],
            "agents": [
                {"id": "Uniform"},
                {"id": "GP-UCB", "kwargs": {"width": "bayes"}},
                {"id": "GP-UCB", "kwargs": {"width": 0.1}, "label": "GP-UCB, narrow"},
                {"id": "GP-BUCB"},
                {"id": "BBKB", "kwargs": {"qbar": 0.5}, "label": EVIL},
            ],
        }
    )
    store = Store(directory)
    store.write_suite(suite)
    run_missing(list(suite.specs()), store, SerialExecutor())
    audited = dict(audit_runs(store, sorted(store.done_keys()), checkpoints=12)).values()
    assert not any(isinstance(one, str) or one.differs for one in audited)
    build_page(directory)
    return directory
