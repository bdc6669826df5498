"""Pictures of the flow of information."""
