"""Leaderboards of Gaussian-process bandits: agents play environments, runs are stored, scored and shown."""
