"""The version and the address of the distribution, kept apart so that the build reads them without importing NumPy."""

__version__ = "1.0.0"

ADDRESS = "https://address.invalid/gpbandit-envs"
"""Where the project is public; `python release/fill.py ADDRESS` writes it here and into what is prepared there."""
