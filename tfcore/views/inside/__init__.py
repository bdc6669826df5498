"""Views of the chapter on the inside of a model."""
