"""How boards are made and checked: played, kept, replayed in samples, and added to by submissions."""
