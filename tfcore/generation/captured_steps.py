"""Reading one more token as a CUDA graph: the kernels of a step are recorded once and then launched together.

Step by step a small model keeps a GPU waiting: each of its hundreds of kernels is launched by Python by itself. A graph
needs the same kernels on the same memory at every step, so here attention looks at all places of the cache, and a mask
hides those that nothing was written to yet.
"""

import threading
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import FixedCache, KVCache
from tfcore.model import Transformer

CAPTURED_FROM = 12  # new tokens: recording takes as long as about so many steps
WARMED = 3  # steps before the one that is recorded: libraries choose their kernels and take their memory in them
_recording = threading.Lock()


def can_be_captured(model: Transformer, cache: KVCache) -> bool:
    """Whether a step of this model is the same kernels for every token, on a device that records them.

    Which experts run depends on the token, and the places of a ring move; a bias of positions would be a table of all
    pairs, layers with rotations of their own would need one for each, and latents of all places would be projected.
    """
    config = model.config
    return (
        model.device.type == "cuda"
        and config.architecture == "decoder"
        and config.experts is None
        and config.attention.kv_latent is None
        and config.positions.kind not in ("alibi", "relative")
        and all(layer.positions is None for layer in config.layers)
        and (config.positions.scaling is None or config.positions.scaling.kind != "longrope")
        and cache.batch == 1
        and not cache.has_ring
        and cache.rollback == 0
    )


class OneStep:
    """A step of one token in which everything that changes from step to step is in tensors.

    Args:
        model: a decoder for which can_be_captured holds, wherever it is.
        cache: keys and values of the earlier tokens; those of the new ones are written there, but not counted.

    Attributes:
        token, place: the id to read, (1, 1), and its position, (1); to be set before each step.
    """

    def __init__(self, model: Transformer, cache: KVCache) -> None:
        self.model, capacity = model, cache.capacity
        self.token = torch.zeros(1, 1, dtype=torch.long, device=model.device)
        self.place = torch.full((1,), cache.length, device=model.device)
        self._cache = FixedCache(cache, self.place)
        self._key = torch.arange(capacity, device=model.device)
        self._added = None
        if model.config.positions.added:
            self._added = model.activations(self.token.expand(1, capacity), "pos_embed")["pos_embed"]  # (key, d_model)
        self._whole = model.stack.attention_context(capacity, 0)  # of a text that fills the cache

    def __call__(self) -> Float[Tensor, "1 1 vocab"]:
        """Logits of the token after `token`, which stands at `place`."""
        stack, recorder = self.model.stack, ActivationRecorder()
        x = self.model.embedded(self.token, recorder)
        if self._added is not None:
            x = x + self._added.index_select(0, self.place)
        x = stack.embed_norm(x)
        rotation = self._whole.rotation
        if rotation is not None:
            rotation = rotation[0].index_select(0, self.place), rotation[1].index_select(0, self.place)
        seen = (self._key <= self.place)[None]  # (query, key)
        mask = replace(self._whole, mask=seen, is_causal=False, rotation=rotation, n_query=1)
        for block in stack.blocks:
            x = block(x, mask, recorder, cache=self._cache)
        logits = self.model.to_logits(stack.ln_final(x))
        assert logits is not None  # a Reader takes no model without a head
        return logits


class CapturedSteps:
    """The steps of one text on a GPU, recorded at the first of them.

    Args:
        model, cache: for which can_be_captured holds.
    """

    def __init__(self, model: Transformer, cache: KVCache) -> None:
        self._step, self._graph = OneStep(model, cache), torch.cuda.CUDAGraph()
        with _recording, torch.cuda.device(model.device):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARMED):
                    self._step()
            torch.cuda.current_stream().wait_stream(stream)
            # other threads may go on with what a recording thread may not do
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._logits = self._step()

    def read(self, token: int, place: int) -> Float[Tensor, "1 1 vocab"]:
        """Logits of the token after this one, on the GPU; the next step overwrites them."""
        self._step.token.fill_(token)
        self._step.place.fill_(place)
        self._graph.replay()
        return self._logits
