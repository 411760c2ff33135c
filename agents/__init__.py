"""Bandit policies behind one protocol: `agents.make(id, **kwargs)`, `agents.register(id, entry_point, kwargs)`.

`agents.Experiment` asks one of them what to try next in an experiment of one's own.
"""

from agents.core.check import AgentCheckError, check_agent
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee, Sketch
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.registry import AgentSpec, make, register, registered, spec
from agents.experiment import Experiment, log
from agents.presets import Preset, preset
from agents.vector.make import make_vec
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "AgentCheckError",
    "AgentSpec",
    "BandGuarantee",
    "BoundInputs",
    "Capabilities",
    "Experiment",
    "Feedback",
    "Pending",
    "Preset",
    "RegretGuarantee",
    "Sketch",
    "VectorAgent",
    "VectorChoice",
    "VectorFeedback",
    "check_agent",
    "log",
    "make",
    "make_vec",
    "preset",
    "register",
    "registered",
    "spec",
]

# In this order: charts give the agents of one hue one dash after the other.
_BUILT_IN: dict[str, tuple[str, dict[str, object]]] = {
    "Uniform": ("agents.baselines.uniform:Uniform", {}),
    "Random": ("agents.baselines.uniform:RandomSearch", {}),
    "EpsGreedy": ("agents.baselines.eps_greedy:EpsGreedy", {}),
    "UncertaintySampling": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {}),
    "MVR": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {}),
    "VA-MVR": ("agents.baselines.uncertainty_sampling:UncertaintySampling", {"noise": "by_arm"}),
    "GP-UCB": ("agents.exact.gp_ucb:GPUCB", {}),
    "EC-GP-UCB": ("agents.exact.ec_gp_ucb:ECGPUCB", {}),
    "RGP-UCB": ("agents.exact.rgp_ucb:RGPUCB", {}),
    "IRGP-UCB": ("agents.exact.irgp_ucb:IRGPUCB", {}),
    "GP-EI": ("agents.exact.gp_ei:GPEI", {}),
    "GP-TS": ("agents.exact.thompson:GPTS", {}),
    "GP-BUCB": ("agents.exact.gp_bucb:GPBUCB", {}),
    "GP-AUCB": ("agents.exact.gp_aucb:GPAUCB", {}),
    "GP-UCB-PE": ("agents.exact.gp_ucb_pe:GPUCBPE", {}),
    "GP-UCB-SDF": ("agents.exact.gp_ucb_sdf:GPUCBSDF", {}),
    "NRB-UCB": ("agents.exact.naive_batches:NRBUCB", {}),
    "NTB-UCB": ("agents.exact.naive_batches:NTBUCB", {}),
    "SM-UCB": ("agents.exact.simulation_matching:SimulationMatching", {"policy": "ucb"}),
    "SM-MEI": ("agents.exact.simulation_matching:SimulationMatching", {"policy": "mei"}),
    "ASYNC-TS": ("agents.exact.thompson:AsyncTS", {}),
    "BBKB": ("agents.sketched.bbkb:BBKB", {}),
    "BKB": ("agents.sketched.bkb:BKB", {}),
    "BBKB-GlobalLocal": ("agents.sketched.bbkb:BBKB", {"rule": "global-local"}),
    "BPE": ("agents.few_batches.bpe:BPE", {}),
    "VA-PE": ("agents.few_batches.bpe:BPE", {"lengths": "doubling", "noise": "by_arm"}),
    "REDS": ("agents.few_batches.bpe:BPE", {"sampling": "uniform"}),
    "RGP-PE": ("agents.few_batches.rgp_pe:RGPPE", {}),
    "BPE-Delay": ("agents.few_batches.bpe_delay:BPEDelay", {}),
    "REG-EVOLUTION": ("agents.baselines.evolution:RegularisedEvolution", {}),
    "UHE-BO": ("agents.learned.uhe_bo:UHEBO", {}),
    "RA-BO": ("agents.learned.uhe_bo:UHEBO", {"sampling": "alternate"}),
    "Random+EXP3": ("agents.learned.uhe_bo:UHEBO", {"loss": "plain"}),
    "MAP-UCB": ("agents.learned.gp_ucb:MAPUCB", {}),
    "MCMC-UCB": ("agents.learned.gp_ucb:MCMCUCB", {}),
    "A-GP-UCB": ("agents.learned.shrinking:AGPUCB", {}),
    "LB-GP-UCB": ("agents.learned.length_scale_balancing:LBGPUCB", {}),
    "Wang-deFreitas": ("agents.learned.shrinking:WangDeFreitas", {}),
    "Portfolio": ("agents.learned.uhe_bo:Portfolio", {}),
    "MAP-BUCB": ("agents.learned.gp_bucb:MAPBUCB", {}),
    "Optuna-TPE": ("agents.adapters.optuna_samplers:Optuna", {"sampler": "tpe"}),
    "Optuna-GP": ("agents.adapters.optuna_samplers:Optuna", {"sampler": "gp"}),
    "BoTorch-EI": ("agents.adapters.botorch_acquisitions:BoTorch", {"acquisition": "ei"}),
    "BoTorch-UCB": ("agents.adapters.botorch_acquisitions:BoTorch", {"acquisition": "ucb"}),
}
for _id, (_entry_point, _kwargs) in _BUILT_IN.items():
    register(_id, _entry_point, _kwargs)
