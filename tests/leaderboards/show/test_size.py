"""Large folders: how much memory the site takes to build, and how large its pages become."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_site import audit, write
from leaderboards.audit.store import AuditStore
from leaderboards.play.spec import Ref
from leaderboards.show import build_page
from tests.leaderboards.folders import folder

# The peak is read by the process itself: what the kernel tells of children counts those of other tests too, and what it
# tells as "maximum resident set" starts at the size of the process that forked.
BUILD = """
import sys
from pathlib import Path
from leaderboards.show import build_page
build_page(sys.argv[1])
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc")
def test_a_fifth_of_the_promised_size_is_built_in_half_the_memory(tmp_path: Path) -> None:
    # The whole, 1,000 runs of 10,000 rows, and the time are measured by benchmarks/bench_site.py.
    write(tmp_path, 200, 10_000)
    built = subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], check=True, capture_output=True, text=True)
    assert int(built.stdout.split()[-1]) * 1024 < 1e9


@pytest.mark.slow
def test_pages_stay_small_with_many_audited_agents(tmp_path: Path) -> None:
    agents = [Ref("Uniform", label="Agent"), *(Ref(f"a.module:Agent{i}", label=f"Agent{i}") for i in range(24))]
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=3, T=400)
    rng = np.random.default_rng(0)
    for key in store.done_keys():
        one = audit(store.spec(key), rng)
        if int(store.spec(key).agent.label[5:] or 0) % 3:  # a third of the agents have a sketch
            one = replace(one, facts=replace(one.facts, no_sketch="none"))
        AuditStore(tmp_path).write(one)
    build_page(tmp_path, theory=False)
    sizes = {path.name: path.stat().st_size for path in tmp_path.rglob("*.html")}
    assert len(sizes) == 1 + 1 + 25 + 1
    assert max(sizes.values()) < 300_000, max(sizes, key=sizes.__getitem__)
    scripts = list((tmp_path / "site" / "compare").glob("*.js"))
    assert len(scripts) == 25
    assert max(path.stat().st_size for path in scripts) < 400_000
