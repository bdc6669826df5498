"""Charts of circuits."""
