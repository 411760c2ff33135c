"""What does a board keep? Its files, read like a results folder."""
