"""Views of training."""
