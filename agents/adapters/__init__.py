"""Optimisers of other libraries as policies, for comparison; the libraries are optional extras.

`AskTell` makes a policy of any optimiser with `ask` and `tell`, in about ten lines.
"""

from agents.adapters.ask_tell import AskTell

__all__ = ["AskTell"]
