"""The script of ten plates, as its reader runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "plates"


@pytest.mark.slow
def test_ten_plates_of_eight_with_two_failures_and_a_restart_every_night(tmp_path: Path) -> None:
    script = FOLDER / "plates.py"
    assert len([line for line in script.read_text().splitlines() if line.strip()]) <= 15
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    content = json.loads((tmp_path / "lab.json").read_text())
    asked = [event["ask"] for event in content["events"] if "ask" in event]
    told = [event for event in content["events"] if "tell" in event]
    assert [len(batch) for batch in asked] == [8] * 10
    assert sum("failed" in event for event in told) == 2
    assert sum("outcome" in event for event in told) == 78
    tried = pd.DataFrame([point for batch in asked for point in batch])
    assert not tried.duplicated().any()
    assert len(content["setup"]["candidates"]["base"]) == 1_728
    # Of 1,728 yields five are above 69; the best of 80 reactions drawn at random has a median of 64.
    assert float(ended.stdout.strip().rstrip(")").split(", ")[-1]) > 68
