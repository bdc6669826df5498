"""Charts of scaling."""
