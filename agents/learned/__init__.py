"""Policies that estimate kernel and noise from the feedback; those of the problem are not used."""
