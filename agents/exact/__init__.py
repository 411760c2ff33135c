"""Policies on the exact posterior over a finite set of arms."""
