"""Charts of generation."""
