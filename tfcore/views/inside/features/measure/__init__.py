"""Numbers of features."""
