"""Numbers of long contexts."""
