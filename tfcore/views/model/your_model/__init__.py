"""Models of one's own."""
