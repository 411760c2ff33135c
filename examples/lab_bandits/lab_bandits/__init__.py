"""An agent and an environment of one's own for gpbandit."""
