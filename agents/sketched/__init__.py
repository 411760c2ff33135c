"""Policies on the sketched posterior of a dictionary of inducing arms."""
