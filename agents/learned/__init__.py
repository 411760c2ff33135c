"""Policies that learn the kernel from the feedback; the card's kernel and noise are not looked at."""
