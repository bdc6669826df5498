"""A small model with transcoders that several tests share."""

from functools import cache

import torch

from tests import small
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig
from tfcore.model import Transformer
from tfcore.views.inside.circuits.measure.graph import Graph, Output, attribution_graph

WIRING = {"norm": "rmsnorm", "positions": "rope", "bias": False, "activation": "swiglu", "n_kv_heads": 3, "n_layers": 3}
IDS = (5, 17, 3, 44, 5, 30, 17, 2, 60, 9, 11)  # more than are traced together
OUTPUTS = (Output(7, None, 0.75), Output(12, 3, 0.25))


def transcoders(model: Transformer, top_k: int = 5) -> dict[int, Transcoder]:
    """One a layer, of random weights, with biases."""
    found = {}
    for layer in range(model.config.decoder_layers):
        config = TranscoderConfig.of_mlp(layer, d_model=model.config.d_model, n_features=40, top_k=top_k)
        transcoder = Transcoder(config, layer).requires_grad_(False)
        drawn = torch.Generator().manual_seed(layer)
        transcoder.b_enc.copy_(torch.randn(40, generator=drawn) * 0.1)
        transcoder.b_dec.copy_(torch.randn(model.config.d_model, generator=drawn) * 0.1)
        found[layer] = transcoder
    return found


@cache
def made() -> tuple[Transformer, dict[int, Transcoder], Graph]:
    """The model, its transcoders, and the graph of IDS; the weights of its norms are no ones."""
    model, drawn = small.model(**WIRING), torch.Generator().manual_seed(7)
    for weight in model.parameters():
        if weight.ndim == 1:
            weight.add_(torch.randn(weight.shape, generator=drawn) * 0.3)
    dictionaries = transcoders(model)
    return model, dictionaries, attribution_graph(model, dictionaries, IDS, OUTPUTS)
