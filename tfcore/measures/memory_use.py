"""How much memory a model takes, for training and for generation: arithmetic from its config, nothing is built.

Activations are what the forward pass keeps for the backward pass: each tensor that some operation's gradient needs,
once.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tfcore.config import ModelConfig
from tfcore.measures.flop_count import lengths
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.parameter_count import Layer, layers, parameters, place_products
from tfcore.measures.precision import Dtype, stored_bytes

Optimizer = Literal["adamw", "momentum", "sgd"]
Kernel = Literal["fused", "explicit"]

MOMENTS: dict[Optimizer, int] = {"adamw": 2, "momentum": 1, "sgd": 0}  # float32 numbers kept per parameter
STATISTIC = 4  # bytes: norms and the softmax keep their sums in float32, and so does the loss its log-probabilities
INDEX = 8  # bytes of a token id, or of an expert's number: int64


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes, by what they hold.

    Args:
        weights: the parameters.
        gradients: one number for each parameter, as precise as the weights.
        optimizer: its moments in float32 and, where the weights are in 16 bits, a float32 copy of them.
        activations: what the forward pass keeps for the backward pass; component -> bytes. None where it is not
            counted, see is_counted.
        kv_cache: keys and values of the tokens so far; where there is a window, of the window - 1 tokens before the
            next one.
        cross_cache: keys and values of the encoder's output, which an encoder-decoder keeps besides.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: dict[str, int] | None
    kv_cache: int
    cross_cache: int

    @property
    def training(self) -> int:
        """Weights, gradients, optimiser state and activations, where these are counted; no temporary buffers."""
        return self.weights + self.gradients + self.optimizer + sum((self.activations or {}).values())

    @property
    def generation(self) -> int:
        """Weights and caches."""
        return self.weights + self.kv_cache + self.cross_cache


def memory(
    config: ModelConfig,
    *,
    batch: int,
    seq: int,
    decoder_seq: int | None = None,
    dtype: Dtype = "float32",
    optimizer: Optimizer = "adamw",
    kernel: Kernel = "fused",
) -> MemoryUse:
    """Count the bytes of training on a batch, and of generating with a cache of the same size.

    A parameter takes 16 bytes with AdamW, in float32 (weight 4, gradient 4, moments 8) as in 16 bits (2, 2, moments
    8, float32 copy 4; arXiv:1910.02054, section 3.1). Activations: see `activations`.

    Args:
        config: any valid config.
        batch: sequences at once.
        seq: tokens of each; of an encoder-decoder those the encoder reads.
        decoder_seq: tokens of an encoder-decoder's decoder; None means as many as seq.
        dtype: of weights, gradients, activations and caches.
        optimizer: "adamw" has two moments, SGD with "momentum" one, "sgd" none.
        kernel: of attention; "fused" keeps no (query, key) matrix, "explicit" keeps every pattern.

    Raises:
        ValueError: an unknown choice, or sizes that do not fit the config.
    """
    for name, value, kind in (("dtype", dtype, Dtype), ("optimizer", optimizer, Optimizer), ("kernel", kernel, Kernel)):
        if value not in get_args(kind):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(get_args(kind))}")
    if batch < 1:
        raise ValueError(f"batch={batch} must be at least 1")
    n_encoder, n_decoder = lengths(config, seq, decoder_seq)
    size, n = stored_bytes(1, dtype), parameters(config).total
    kv_cache = cross_cache = 0
    if config.architecture != "encoder":
        shape = cache_shape(config)
        kv_cache = cache_bytes(shape, n_decoder, batch, dtype)
        cross_cache = cache_bytes(replace(shape, windowed=0), n_encoder, batch, dtype)
    return MemoryUse(
        weights=n * size,
        gradients=n * size,
        optimizer=n * 4 * (MOMENTS[optimizer] + (dtype != "float32")),
        activations=activations(config, batch, n_encoder, n_decoder, size, kernel) if is_counted(config) else None,
        kv_cache=kv_cache,
        cross_cache=cross_cache,
    )


def is_counted(config: ModelConfig) -> bool:
    """Whether it is known what the backward pass needs: of layers of attention, without states, and without a gate
    behind it."""
    return config.mixer is None and not config.attention.gate and len(config.attention_layers) == config.n_layers


def activations(
    config: ModelConfig, batch: int, n_encoder: int, n_decoder: int, size: int, kernel: Kernel
) -> dict[str, int]:
    """Bytes kept for the backward pass of one batch, by component.

    Counted operation by operation, as in arXiv:2205.05198, section 4.1. A pre-norm block of LayerNorm, explicit
    multi-head attention with h d_head = d and an ungated feed-forward layer of 4 d keeps 16 d + h seq numbers a token.
    In 16 bits these are 32 d + 2 h seq of the 34 d + 5 h seq bytes of the paper's eq. 1; the others are its dropout on
    attention weights, which we do not have, and the masks of the dropout on what the two sublayers add.

    Left out: masks and angles, without a batch axis; temporary buffers; and what a kernel keeps beyond need. torch's
    CPU kernels keep some vectors twice: those that RMSNorm normalises, and what normalised heads found. And they cannot
    fuse attention with a bias that is learned: in training, positions="relative" keeps what "explicit" does, and so,
    counted, does "disentangled".

    Args:
        batch: sequences at once.
        n_encoder, n_decoder: tokens of each in the encoder and in the decoder.
        size: bytes per number.
        kernel: of attention; "fused" keeps no (query, key) matrix, "explicit" keeps every pattern.

    Returns:
        Component -> bytes; "output" is what the head and a cross-entropy loss on all its scores keep.
    """
    if not is_counted(config):
        raise ValueError(
            "what a layer with a state, or a gate behind attention, keeps for the backward pass is not counted; take a "
            "model of plain attention"
        )
    total: Counter[str] = Counter()
    for layer in layers(config):
        total.update(_block(config, layer, batch, n_encoder, n_decoder, size, kernel))
    for n in (n_encoder, n_decoder):
        if n:
            total.update(_around(config, batch * n, size))
    total["output"] = batch * _output(config, n_decoder or n_encoder, size)
    return {component: count for component, count in total.items() if count}


def _block(
    config: ModelConfig, layer: Layer, batch: int, n_encoder: int, n_decoder: int, size: int, kernel: Kernel
) -> dict[str, int]:
    n = n_encoder if layer.encoder else n_decoder
    kept = {
        "norms": batch * n * _norms(config, layer, size),
        "attention": batch * _attention(config, n, size, kernel) + _position_bias(config, layer, n, size, kernel),
        "dropout": batch * n * layer.sublayers * config.d_model if config.dropout else 0,  # a byte where it may drop
    }
    if layer.cross:
        kept["cross-attention"] = batch * _cross_attention(config, n, n_encoder, size, kernel)
    if layer.plain:
        kept["feed-forward"] = batch * n * _feed_forward(config, config.ff_size) * size
    if layer.mixture:
        kept["experts"] = batch * n * _mixture(config, size)
    if config.convolves_input(layer.index):  # its output before or after the activation, and what the norm keeps
        kept["input convolution"] = batch * n * config.d_model * size
        kept["norms"] += batch * n * _norm(config, size)
    return kept


def _norm(config: ModelConfig, size: int, width: int | None = None) -> int:
    """A norm's input and its statistics: mean and deviation, or the deviation alone."""
    return (width or config.d_model) * size + STATISTIC * (2 if config.norm.kind == "layernorm" else 1)


def _norms(config: ModelConfig, layer: Layer, size: int) -> int:
    """Per token: what each norm keeps, and its output, which the matrices after it keep.

    What a sandwich's second norm puts out is only added, and addition keeps nothing. Two norms in parallel read one
    stream; of norms after sublayers alone, the matrices keep the stream.
    """
    vector = config.d_model * size
    both = _norm(config, size) + vector
    if config.parallel:
        return both if config.shared_norm else 2 * both - vector
    bare = layer.index == 0 and not config.norm.first  # its matrices keep the stream in place of a norm's output
    norms = layer.sublayers * (both + (_norm(config, size) if config.norm.placement == "sandwich" else 0))
    return norms - bare * _norm(config, size)


def _attention(config: ModelConfig, n: int, size: int, kernel: Kernel) -> int:
    """Self-attention over one sequence."""
    heads, kv_heads, width = config.attention.n_heads, config.attention.kv_heads, config.head_size
    product = (heads + 2 * kv_heads) * width  # queries, keys and values in one piece: each keeps all of it alive
    normed = _qk_norms(config, heads, kv_heads, size) + (product * size if config.attention.clip is not None else 0)
    z = heads * width
    if config.attention.softcap is not None or config.attention.sinks:  # which the fused kernel does not have
        capped = n if config.attention.softcap is not None else 0  # a soft cap keeps what it puts out
        sunk = 1 if config.attention.sinks else 0  # the softmax keeps a column more
        kernel, normed = "explicit", normed + heads * (capped + sunk) * size
    if config.positions.kind == "disentangled":
        kernel = "explicit"
    if config.attention.kv_latent is not None:
        patterns = heads * n * size if kernel == "explicit" else 0
        return n * (_latent_attention(config, size, kernel) + normed + patterns)
    if kernel == "explicit":  # scaled queries, and keys and values written out for every head
        product = product if config.attention.qk_norm else 0
        places = _place_products(config, n, size)
        return n * (size * (product + 3 * heads * width + z + heads * n) + normed) + places
    rotated = (heads + kv_heads) * width if config.positions.kind == "rope" or config.attention.qk_norm else 0
    copied = z if config.positions.rotated is not None else 0  # joined to what is not rotated, heads lie otherwise
    return n * (size * (product + rotated + z + copied) + normed + heads * STATISTIC)


def _place_products(config: ModelConfig, n: int, size: int) -> int:
    """Products with relative positions: each keeps its factors, and the scores of all positions, of which a pair takes
    one."""
    width, buckets = config.head_size, config.positions.buckets
    return place_products(config) * config.attention.n_heads * (n * (width + buckets) + buckets * width) * size


def _latent_attention(config: ModelConfig, size: int, kernel: Kernel) -> int:
    """Per token: what the norms of latents read and give, queries and keys after the rotation, values and outputs; the
    fused kernel keeps values in one piece with the keys, and its output in two orders."""
    heads, width, latent = config.attention.n_heads, config.head_size, config.attention.kv_latent or 0
    rotated, z = config.positions.rotated or 0, heads * config.value_size
    read = rotated + 2 * latent + 2 * (config.attention.q_latent or 0)
    values = z if kernel == "explicit" else heads * (width - rotated) + z
    norms = STATISTIC * (2 if config.attention.q_latent else 1)
    softmax = 0 if kernel == "explicit" else heads * STATISTIC + size * z
    return size * (read + 2 * heads * width + values + z) + norms + softmax


def _qk_norms(config: ModelConfig, heads: int, kv_heads: int, size: int) -> int:
    """Per token: the statistics of the norms of queries and keys; of all heads together, these side by side besides,
    and with a scale of each head's own what it multiplies."""
    if config.attention.qk_norm == "each":
        return (heads + kv_heads) * (2 * STATISTIC + config.head_size * size)
    if config.attention.qk_norm == "width":
        return ((heads > 0) + (kv_heads > 0)) * STATISTIC + (heads + kv_heads) * config.head_size * size
    return (heads + kv_heads) * STATISTIC if config.attention.qk_norm else 0


def _cross_attention(config: ModelConfig, n: int, others: int, size: int, kernel: Kernel) -> int:
    """Attention of n tokens to the encoder's."""
    heads, kv_heads, width = config.attention.n_heads, config.attention.kv_heads, config.head_size
    normed = n * _qk_norms(config, heads, 0, size) + others * _qk_norms(config, 0, kv_heads, size)
    normed += (heads * n + kv_heads * others) * width * size if config.attention.qk_norm else 0
    q = z = n * heads * width
    if kernel == "explicit":
        alive = others * kv_heads * width if config.attention.qk_norm else 0  # values, in a piece with the keys
        return size * (q + z + 2 * others * heads * width + heads * n * others + alive) + normed
    return size * (q + z + 2 * others * kv_heads * width) + normed + n * heads * STATISTIC


def _position_bias(config: ModelConfig, layer: Layer, n: int, size: int, kernel: Kernel) -> int:
    """Bytes of the bias that positions add to the scores, the same for all sequences: the fused kernel keeps it.

    A decoder's layers each write it anew, with -inf where the mask is; an encoder's share one, unless each has its own.
    Of disentangled positions the vectors, where they are normalised, and which of them belongs to which pair.
    """
    if config.positions.kind == "disentangled":
        vectors = config.positions.buckets * _norm(config, size) if config.positions.normed else 0
        return n * n * INDEX + vectors if layer.index == 0 else 0
    biased = config.positions.kind in ("alibi", "relative") and kernel == "fused"
    shared = layer.encoder and layer.index > 0 and not config.positions.by_layer
    return config.attention.n_heads * n * n * size if biased and not shared else 0


def _feed_forward(config: ModelConfig, d_ff: int) -> int:
    """Numbers per token: before and after the activation; ReLU needs only the latter, a gate both factors besides.
    Where either half is changed before, what it was is kept too. xIELU keeps four steps on the way."""
    layer = config.feed_forward
    cut, gained, shifted = layer.limit is not None, layer.gain != 1, layer.shift != 0
    if layer.is_gated:
        halves = 0 if gained and shifted and not cut else 2
        return (halves + (cut or gained) + (cut or shifted) + 2) * d_ff
    return {"relu": 1, "xielu": 6}.get(layer.activation, 2) * d_ff


def _mixture(config: ModelConfig, size: int) -> int:
    """Per token: the router's probabilities; for each chosen expert the token, what the expert makes of it, the same
    times its weight (index_add keeps what it adds), two weights and three indices; and the shared experts."""
    if (experts := config.experts) is None:
        return 0
    width = config.expert_size
    slot = size * (3 * config.d_model + _feed_forward(config, width)) + 2 * STATISTIC + 3 * INDEX
    shared = size * _feed_forward(config, experts.n_shared * width)
    shared += size * (config.d_model + 1) if experts.shared_gate else 0  # both factors
    return experts.top_k * slot + shared + STATISTIC * experts.n_experts


def _around(config: ModelConfig, tokens: int, size: int) -> dict[str, int]:
    """Before and after the blocks of a stack: token ids, the norm of the embeddings, the final norm."""
    d = config.d_model * size
    ids = INDEX * (1 + bool(config.n_segments))
    final = _norm(config, size) if config.norm.final else 0
    embedded = _norm(config, size, config.embed_size) if config.norm.of_embeddings else 0
    embedded += config.d_embed * size if config.d_embed is not None else 0  # what the projection reads
    return {
        "embedding": tokens * ids,
        "norms": tokens * (d + final + embedded),  # d: what the first or last matrix reads
        "dropout": tokens * config.d_model if config.dropout else 0,
    }


def _output(config: ModelConfig, n: int, size: int) -> int:
    """The head of one sequence and its loss: log-probabilities of every token id, in float32."""
    d, embedded = config.d_model * size, config.embed_size * size
    head = n * (2 * embedded + _norm(config, size, config.embed_size)) if config.head == "mlm" else 0
    loss = n * (config.vocab_size * STATISTIC + INDEX) if config.scores_tokens else 0
    loss += n * config.vocab_size * size if config.scores_tokens and config.logit_softcap is not None else 0
    return head + loss + (2 * d if config.pooler else 0)
