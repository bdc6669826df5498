"""Whether a model's heads have matrices of their own that read the stream."""

from tfcore.config import ModelConfig


def why_no_head_matrices(config: ModelConfig) -> str | None:
    """Why a model has no W_K and W_V of each head that read the residual stream, or None."""
    if config.attention.kv_latent is None:
        return None
    return "it makes keys and values of all heads from one normalised latent vector (MLA), not by matrices of each."
