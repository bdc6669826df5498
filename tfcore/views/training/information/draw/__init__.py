"""Charts of information."""
