"""Views of inference."""
