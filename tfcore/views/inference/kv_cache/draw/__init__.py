"""Its pictures."""
