"""Gymnasium environments built from a mean-function family, a noise model and costs."""
