"""A loop of BoTorch on arms of this package: `pip install "gpbandit-envs[botorch]"`, then run this file."""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood

from gpbandit_envs.adapters import to_botorch

torch.manual_seed(0)
problem = to_botorch("GPBandit/GPSample-v0", n_arms=200, seed=0)
X = problem.choices[torch.randperm(len(problem.choices))[:5]]
Y = problem(X)[:, None]
for _ in range(10):
    model = SingleTaskGP(X, Y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    x, _ = optimize_acqf_discrete(LogExpectedImprovement(model, best_f=Y.max()), q=1, choices=problem.choices)
    X, Y = torch.cat([X, x]), torch.cat([Y, problem(x)[:, None]])
regret = problem.optimal_value - problem.evaluate_true(X).max().item()
print(f"simple regret {regret:.3f} after {len(X)} evaluations")
