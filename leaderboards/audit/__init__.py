"""Audits: stored runs are replayed to measure the agent's confidence bands, sketches and memory."""
