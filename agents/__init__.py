"""Bandit policies behind one protocol: `agents.make(id, **kwargs)`, `agents.register(id, entry_point, kwargs)`.

`agents.Experiment` asks one of them what to try next in an experiment of one's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.core.check import AgentCheckError, check_agent
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee, Sketch
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.registry import AgentSpec, make, register, registered, spec
from agents.core.turns import Evaluation, turns
from agents.many import VectorAgent, make_vec
from gpbandit_envs.lazy import lazy_names

if TYPE_CHECKING:
    from agents.experiment import Experiment, constraint, forbid, log, mixture

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "AgentCheckError",
    "AgentSpec",
    "BandGuarantee",
    "BoundInputs",
    "Capabilities",
    "Evaluation",
    "Experiment",
    "Feedback",
    "Pending",
    "RegretGuarantee",
    "Sketch",
    "VectorAgent",
    "check_agent",
    "constraint",
    "forbid",
    "log",
    "make",
    "make_vec",
    "mixture",
    "register",
    "registered",
    "spec",
    "turns",
]

# Loaded when first asked for: who plays a policy needs none of it.
_LABORATORY = {"experiment": ("Experiment", "constraint", "forbid", "log", "mixture")}
__getattr__, __dir__ = lazy_names(__name__, _LABORATORY)

# In this order: charts give the agents of one hue one dash after the other. New ones come last, so that the others
# keep theirs.
_BUILT_IN: dict[str, tuple[str, dict[str, object]]] = {
    "Uniform": ("agents.baselines.uniform:Uniform", {}),
    "Random": ("agents.baselines.uniform:RandomSearch", {}),
    "EpsGreedy": ("agents.baselines.eps_greedy:EpsGreedy", {}),
    "UncertaintySampling": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {}),
    "GP-UCB": ("agents.exact.gp_ucb:GPUCB", {}),
    "GP-EI": ("agents.exact.gp_ei:GPEI", {}),
    "GP-TS": ("agents.exact.thompson:GPTS", {}),
    "GP-BUCB": ("agents.exact.gp_bucb:GPBUCB", {}),
    "GP-AUCB": ("agents.exact.gp_aucb:GPAUCB", {}),
    "NRB-UCB": ("agents.exact.naive_batches:NRBUCB", {}),
    "NTB-UCB": ("agents.exact.naive_batches:NTBUCB", {}),
    "SM-UCB": ("agents.exact.simulation_matching:SimulationMatching", {"policy": "ucb"}),
    "SM-MEI": ("agents.exact.simulation_matching:SimulationMatching", {"policy": "mei"}),
    "ASYNC-TS": ("agents.exact.thompson:AsyncTS", {}),
    "BBKB": ("agents.sketched.bbkb:BBKB", {}),
    "BKB": ("agents.sketched.bkb:BKB", {}),
    "BBKB-GlobalLocal": ("agents.sketched.bbkb:BBKB", {"rule": "global-local"}),
    "TV-GP-UCB": ("agents.time_varying.tv_gp_ucb:TVGPUCB", {}),
    "R-GP-UCB": ("agents.time_varying.forgetting:RestartGPUCB", {}),
    "SW-GP-UCB": ("agents.time_varying.forgetting:SWGPUCB", {}),
    "WGP-UCB": ("agents.time_varying.forgetting:WGPUCB", {}),
    "BPE": ("agents.few_batches.bpe:BPE", {}),
    "REG-EVOLUTION": ("agents.baselines.evolution:RegularisedEvolution", {}),
    "UHE-BO": ("agents.learned.uhe_bo:UHEBO", {}),
    "RA-BO": ("agents.learned.uhe_bo:UHEBO", {"sampling": "alternate"}),
    "Random+EXP3": ("agents.learned.uhe_bo:UHEBO", {"loss": "plain"}),
    "MAP-UCB": ("agents.learned.gp_ucb:MAPUCB", {}),
    "MCMC-UCB": ("agents.learned.gp_ucb:MCMCUCB", {}),
    "A-GP-UCB": ("agents.learned.shrinking:AGPUCB", {}),
    "Wang-deFreitas": ("agents.learned.shrinking:WangDeFreitas", {}),
    "Portfolio": ("agents.learned.uhe_bo:Portfolio", {}),
    "MAP-BUCB": ("agents.learned.gp_bucb:MAPBUCB", {}),
    "MAP-EI": ("agents.learned.batch_ei:BatchEI", {}),
    "Optuna-TPE": ("agents.adapters.optuna_samplers:Optuna", {"sampler": "tpe"}),
    "Optuna-GP": ("agents.adapters.optuna_samplers:Optuna", {"sampler": "gp"}),
    "BoTorch-EI": ("agents.adapters.botorch_acquisitions:BoTorch", {"acquisition": "ei"}),
    "BoTorch-UCB": ("agents.adapters.botorch_acquisitions:BoTorch", {"acquisition": "ucb"}),
    "MVR": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {}),
    "GP-UCB-PE": ("agents.exact.gp_ucb_pe:GPUCBPE", {}),
    "GP-UCB-SDF": ("agents.exact.gp_ucb_sdf:GPUCBSDF", {}),
    "REDS": ("agents.few_batches.bpe:BPE", {"sampling": "uniform", "lengths": "doubling"}),
    "BPE-Delay": ("agents.few_batches.bpe_delay:BPEDelay", {}),
    "EC-GP-UCB": ("agents.exact.ec_gp_ucb:ECGPUCB", {}),
    "IRGP-UCB": ("agents.exact.irgp_ucb:IRGPUCB", {}),
    "LB-GP-UCB": ("agents.learned.length_scale_balancing:LBGPUCB", {}),
    "RGP-UCB": ("agents.exact.rgp_ucb:RobustGPUCB", {}),
    "RGP-PE": ("agents.few_batches.rgp_pe:RGPPE", {}),
    "VA-MVR": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {"noise": "by_arm"}),
    "VA-PE": ("agents.few_batches.bpe:BPE", {"lengths": "doubling", "noise": "by_arm"}),
}
for _id, (_entry_point, _kwargs) in _BUILT_IN.items():
    register(_id, _entry_point, _kwargs)
