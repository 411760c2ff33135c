"""Policies that every leaderboard needs as a yardstick."""
