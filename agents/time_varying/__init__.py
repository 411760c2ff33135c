"""Policies for mean functions that change from step to step."""
