"""Channels as Gymnasium wrappers: feedback in batches, or late."""

from gpbandit_envs.wrappers.batch import BatchFeedback
from gpbandit_envs.wrappers.delay import DelayedFeedback

__all__ = ["BatchFeedback", "DelayedFeedback"]
