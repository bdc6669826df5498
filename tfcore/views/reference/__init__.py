"""Views of the chapter of references."""
