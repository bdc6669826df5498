"""Measurements of what fine-tuning changed."""
