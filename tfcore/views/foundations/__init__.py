"""Views of the foundations."""
