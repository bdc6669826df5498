"""Numbers of the flow of information."""
