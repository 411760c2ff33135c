"""How far tables are from the ball of an RKHS: the distance, its certificates, and where they are kept.

>>> import gymnasium
>>> import gpbandit_envs
>>> from gpbandit_envs.certify import certify
>>> env = gymnasium.make("GPBandit/RKHS-v0", n_arms=60, instance_seed=1).unwrapped
>>> _ = env.reset(seed=0)
>>> certificate = certify(env.problem.kernel, env.problem.arms, env.mean(range(60)), norms=(0.5, 1.0))
>>> [pair.norm for pair in certificate.approximations]
[0.5, 1.0]
"""

from gpbandit_envs.certify.certificate import DistanceCertificate, certify, table_hash
from gpbandit_envs.certify.distance import Distance, distances
from gpbandit_envs.certify.folders import find, folders, save

__all__ = [
    "Distance",
    "DistanceCertificate",
    "certify",
    "distances",
    "find",
    "folders",
    "save",
    "table_hash",
]
