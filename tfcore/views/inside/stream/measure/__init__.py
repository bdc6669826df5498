"""Numbers of the residual stream."""
