"""A study of Optuna on a box of this package: `pip install "gpbandit-envs[optunahub]"`, then run this file."""

import optuna

from gpbandit_envs.adapters import to_optunahub

optuna.logging.set_verbosity(optuna.logging.WARNING)
problem = to_optunahub("GPBandit/Branin-v0", seed=0)
study = optuna.create_study(directions=problem.directions, sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(problem, n_trials=40)
regret = problem.instance.optimum - problem.mean(study.best_params)
print(f"simple regret {regret:.3f} at {study.best_params}")
