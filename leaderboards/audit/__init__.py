"""Audits: stored runs are played again and looked inside, at their confidence bands, sketches and memory."""
