"""Policies that estimate kernel and noise from the feedback; the problem's kernel and noise are not used."""
