"""Numbers of two models compared: predictions of each token, attention maps, weights, streams exchanged."""
