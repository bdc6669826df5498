"""Charts of the residual stream."""
