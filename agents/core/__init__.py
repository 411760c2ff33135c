"""The protocol, the registry, and the parts from which policies are composed."""
