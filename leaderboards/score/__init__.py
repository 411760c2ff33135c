"""Scores: metrics, intervals, statistics and theory; pure functions on named arrays, and the reduction of a folder."""
