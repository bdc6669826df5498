"""Views of the chapter on models."""
