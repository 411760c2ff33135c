"""Policies on boxes with a given kernel: an exact posterior, an acquisition function, and its maximiser."""
