"""What an import loads."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
import agents
print(*(name for name in sys.modules if name.startswith("agents.")))
print(agents.Experiment.__module__)
"""


def test_policies_load_no_laboratory_until_it_is_asked_for() -> None:
    ended = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded, module = ended.stdout.splitlines()
    assert "agents.core.protocol" in loaded.split()
    assert "agents.experiment" not in loaded
    assert module == "agents.experiment.experiment"
