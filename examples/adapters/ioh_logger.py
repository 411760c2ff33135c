"""Random search logged by IOHexperimenter: `pip install "gpbandit-envs[ioh]"`, then run this file."""

import tempfile
from pathlib import Path

import ioh
import numpy as np

from gpbandit_envs.adapters import to_ioh

problem = to_ioh("GPBandit/RKHS-v0", n_arms=100, seed=0)
with tempfile.TemporaryDirectory() as folder:
    logger = ioh.logger.Analyzer(root=folder, folder_name="run", algorithm_name="random search")
    problem.attach_logger(logger)
    for arm in np.random.default_rng(0).integers(100, size=50):
        problem([arm])
    print(f"best feedback {problem.state.current_best.y:.3f} after {problem.state.evaluations} evaluations")
    problem.reset()
    logger.close()
    print(", ".join(sorted(path.suffix for path in Path(folder).rglob("IOHprofiler*"))), "written for IOHanalyzer")
