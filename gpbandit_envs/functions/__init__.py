"""Mean functions with their certificates, on finite arm sets and on boxes."""
