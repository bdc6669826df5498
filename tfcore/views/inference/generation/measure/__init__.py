"""Numbers of generation."""
