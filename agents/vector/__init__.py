"""Policies that play many repetitions at once: `agents.make_vec(id, **kwargs)`."""
