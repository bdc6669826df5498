"""Measurements of patches, of what each token adds, and of sets of prompts."""
