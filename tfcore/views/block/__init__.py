"""Views of the block."""
