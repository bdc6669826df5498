"""Charts of attention."""
