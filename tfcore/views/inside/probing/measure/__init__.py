"""Measurements of what can be read off the residual stream by a linear map, and of what adding a direction does."""
