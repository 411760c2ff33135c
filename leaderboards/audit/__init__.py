"""Did the bands hold? Stored runs are replayed to measure an agent's bands, sketches and memory."""
