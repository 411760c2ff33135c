"""Optimisers of other libraries as policies, so that they stand on the same page; their libraries are extras."""
