"""How good was it? Metrics, intervals, statistics and theory on named arrays; `summary` reduces a folder to them."""
