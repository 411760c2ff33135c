"""What does a board keep, and who is on it? Boards are played, kept, checked in samples and added to."""
