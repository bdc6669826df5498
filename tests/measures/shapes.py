"""Configs that the tests of costs share: of each architecture, and of experts."""

from tfcore.part_configs import ExpertsConfig

EXPERTS = ExpertsConfig(n_experts=5, top_k=2, d_expert=8, n_shared=3)
CLASSIC = {"norm": "layernorm", "activation": "gelu", "bias": True, "positions": "learned", "max_seq_len": 128}
BERT = {"architecture": "encoder", "head": "mlm", "n_segments": 2, "pooler": True}
TWO = {"architecture": "encoder-decoder", "n_encoder_layers": 3}
