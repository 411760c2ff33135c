"""Gymnasium environments for Gaussian-process bandits; importing this package registers their ids."""

from gpbandit_envs.registry import register_all
from gpbandit_envs.version import __version__

__all__ = ["__version__"]

register_all()
