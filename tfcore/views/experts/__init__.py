"""Views of the chapter on experts."""
