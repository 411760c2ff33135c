"""Optimisers of other libraries as policies, for comparison; the libraries are optional extras."""
