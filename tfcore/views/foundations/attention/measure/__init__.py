"""Numbers of attention."""
