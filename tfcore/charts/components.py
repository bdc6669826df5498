"""Colours of the components of a model, and of what takes memory."""

# component: its colour; those of one kind share a hue.
COLOURS = {
    "token embedding": "@embedding",
    "positions": "@position",
    "segments": "@position/0.6",
    "embedding projection": "@embedding/0.8",
    "attention": "@attention",
    "cross-attention": "@attention/0.6",
    "mixer": "@cat2",
    "feed-forward": "@feedforward",
    "experts": "@feedforward",
    "shared experts": "@feedforward/0.6",
    "router": "@accent",
    "norms": "@norm",
    "mlm head": "@residual",
    "pooler": "@residual/0.6",
    "class head": "@residual",
    "unembedding": "@embedding/0.6",
    "logit biases": "@embedding/0.3",
}
BYTES = {"weights": "@cat0", "gradients": "@cat1", "optimizer": "@cat2", "activations": "@cat3", "KV cache": "@cat4"}
