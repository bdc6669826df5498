"""What can be read off the residual stream by a linear map, and what adding such a direction does."""
