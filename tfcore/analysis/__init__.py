"""Measurements on models: tensors in, frozen result dataclasses with NumPy arrays out."""
