"""Numbers of residual connections: sublayers left out, and dropout; see measures.deep_networks for gradients."""
