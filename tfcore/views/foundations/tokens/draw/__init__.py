"""Charts of tokens."""
