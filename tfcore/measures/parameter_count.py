"""How many parameters a model has, and where: arithmetic from its config, and the model itself to compare with."""

from collections import Counter
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import blank
from tfcore.mixing_layers import GATE_RANK
from tfcore.model import Transformer
from tfcore.part_configs import Mixer, MixerConfig
from tfcore.sounds import SPAN

EMBEDDINGS = ("token embedding", "positions", "segments", "unembedding")  # what arXiv:2001.08361 leaves out of N


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """The parameters of a model, each counted once, also where two places share them.

    Args:
        total: all of them.
        active: those that take part in computing one token: of a mixture of experts only the chosen and the shared.
        by_component: component -> parameters; sums to total.
        by_layer: name of the block -> component -> parameters.
    """

    total: int
    active: int
    by_component: dict[str, int]
    by_layer: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The parts of one block.

    Args:
        name: as its activations are named: "blocks.3", "encoder.blocks.3".
        index: its place in its stack.
        encoder: it belongs to an encoder.
        mixes: it has attention, or what stands in its place.
        cross: it reads an encoder's output too.
        mixture: its feed-forward half is a mixture of experts.
        plain: its feed-forward half is one feed-forward layer.
    """

    name: str
    index: int
    encoder: bool
    mixes: bool
    cross: bool
    mixture: bool
    plain: bool

    @property
    def sublayers(self) -> int:
        """Attention, cross-attention and feed-forward: those there are."""
        return self.mixes + self.cross + (self.mixture or self.plain)


def parameters(config: ModelConfig) -> ParameterCount:
    """Count the parameters of a config's model.

    A block of width d with h heads of size d_head (and as many key/value heads), a plain feed-forward layer and no
    biases has 4 d h d_head + 2 d d_ff, which is 12 d^2 where h d_head = d and d_ff = 4 d (arXiv:2001.08361, table 1).

    Args:
        config: any valid config.

    Returns:
        Totals, by component and by block.
    """
    kinds: dict[tuple[bool | str, ...], dict[str, int]] = {}  # most blocks of a model are alike
    by_layer = {}
    for layer in layers(config):
        kind = (layer.index > 0, layer.cross, layer.mixture, layer.plain, config.mixer_of(layer.index))
        by_layer[layer.name] = kinds.get(kind) or kinds.setdefault(kind, _block(config, layer))
    by_component = Counter(_ends(config))
    for counts in by_layer.values():
        by_component.update(counts)
    total = sum(by_component.values())
    idle = 0
    if (experts := config.experts) is not None:
        idle = by_component["experts"] // experts.n_experts * (experts.n_experts - experts.top_k)
    return ParameterCount(total, total - idle, dict(by_component), by_layer)


def layers(config: ModelConfig) -> list[Layer]:
    """The blocks, the encoder's first."""
    both = config.architecture == "encoder-decoder"
    stacks = [("encoder.", config.encoder_layers, True), ("decoder.", config.decoder_layers, False)]
    return [
        Layer(
            name=f"{prefix if both else ''}blocks.{i}",
            index=i,
            encoder=encoder,
            mixes=config.mixer_of(i) != "none",
            cross=both and not encoder,
            mixture=config.is_routed(i),
            plain=config.is_plain(i),
        )
        for prefix, n_layers, encoder in stacks
        for i in range(n_layers)
    ]


def feed_forward_weights(config: ModelConfig, d_ff: int) -> int:
    """Weights of a feed-forward layer or expert: up and down, and the gate's where there is one."""
    return (3 if config.feed_forward.is_gated else 2) * config.d_model * d_ff


def activation_weights(config: ModelConfig) -> int:
    """Learned numbers of the activation function of one layer."""
    return 2 if config.feed_forward.activation == "xielu" else 0


def expert_parameters(config: ModelConfig) -> int:
    """Weights of one routed expert, with its biases where it has some; 0 where there are no experts."""
    if (experts := config.experts) is None:
        return 0
    biases = (2 if config.feed_forward.is_gated else 1) * config.expert_size + config.d_model if experts.bias else 0
    return feed_forward_weights(config, config.expert_size) + biases


def rule_of_thumb(config: ModelConfig) -> int:
    """12 N d^2 + V d: per block 4 d^2 for attention and 8 d^2 for a feed-forward layer of 4 d, and one table of
    embeddings (arXiv:2001.08361, table 1, and the table). It knows no GQA, no gates, no experts, no norms."""
    return 12 * (config.encoder_layers + config.decoder_layers) * config.d_model**2 + config.vocab_size * config.d_model


def kv_head_parameters(config: ModelConfig) -> int:
    """Parameters of one KV head: its rows of W_K and W_V with their biases, in every attention layer of the model; 0
    with latent attention, whose matrices have none of their own."""
    if config.attention.kv_latent is not None:
        return 0
    attentions = sum(1 + layer.cross for layer in layers(config) if config.attends(layer.index))
    return 2 * attentions * config.head_size * (config.d_model + config.has_qkv_bias)


def built_parameters(config: ModelConfig) -> int:
    """The parameters of the model itself, built without memory (on torch's meta device)."""
    model: Transformer = blank(config)
    return sum(parameter.numel() for parameter in model.parameters())


def _block(config: ModelConfig, layer: Layer) -> dict[str, int]:
    """The parameters of one block, by component."""
    counts = {"attention": _attention(config)} if config.attends(layer.index) else {}
    if (kind := config.carried_by(layer.index)) is not None:
        counts["mixer"] = _mixer(config, kind)
    if layer.cross:
        counts["cross-attention"] = _attention(config)
    if layer.plain:
        gates = 1 if config.feed_forward.is_gated else 0
        biases = (1 + gates) * config.ff_size + config.d_model if config.bias else 0
        counts["feed-forward"] = feed_forward_weights(config, config.ff_size) + biases + activation_weights(config)
    if layer.mixture and (experts := config.experts) is not None:
        size = config.expert_size
        counts["router"] = (config.d_model + experts.bias) * experts.n_experts
        counts["experts"] = experts.n_experts * expert_parameters(config)
        if experts.n_shared:
            gate = config.d_model if experts.shared_gate else 0
            counts["shared experts"] = feed_forward_weights(config, experts.n_shared * size) + gate
    counts["norms"] = _block_norms(config, layer)
    if config.convolves_input(layer.index):
        counts["input convolution"] = convolution_weights(config) + config.d_model
        counts["norms"] += _norm(config)
    return counts


def _attention(config: ModelConfig) -> int:
    """W_Q, W_K, W_V and W_O, or the matrices of latents in place of the first three, with their biases and norms, those
    of relative positions, and the sinks of the heads."""
    attention = config.attention
    sinks = attention.n_heads if attention.sinks else 0
    own = config.d_model * config.has_out_bias + sinks + attention_weights(config)
    if not config.positions.shared:
        own += place_products(config) * attention.n_heads * config.head_size * (config.d_model + config.has_qkv_bias)
    if attention.kv_latent is None:
        made = attention.n_heads * (1 + attention.gate) + 2 * attention.kv_heads
        return own + made * config.head_size * config.has_qkv_bias
    latents = attention.kv_latent + (attention.q_latent or 0)  # each with a norm
    return own + latents + (latents + (config.positions.rotated or 0)) * config.has_qkv_bias


def _mixer(config: ModelConfig, kind: Mixer) -> int:
    """What stands in the place of attention: its matrices with their biases, its convolution, and the numbers of each
    head."""
    own, (d_key, d_value) = config.mixer or MixerConfig(), config.mixer_sizes
    matrices = mixer_weights(config, kind) + own.bias * mixer_outputs(config, kind)
    if kind == "conv":
        return matrices + config.d_model * (own.width + own.conv_bias)
    channels = 2 * own.key_heads * d_key + own.n_heads * d_value
    convolved = channels * (own.width + own.conv_bias) if own.width > 1 else 0
    norm = {"group": own.n_heads * d_value, "head": d_value, None: 0}[own.norm]
    numbers = 2 * own.n_heads * (own.decay == "token") + own.n_heads * (kind == "ssm")  # rates and steps; skips
    faded = own.n_heads * d_key * (own.decay == "channel")  # biases of the decay by channel, always there
    return matrices + convolved + norm + numbers + faded


def mixer_outputs(config: ModelConfig, kind: Mixer) -> int:
    """Outputs of the matrices of a mixer that may have a bias."""
    own, (d_key, d_value) = config.mixer or MixerConfig(), config.mixer_sizes
    if kind == "conv":
        return 4 * config.d_model
    of_heads = own.n_heads * ((own.decay == "token") + (kind == "delta"))
    return 2 * own.key_heads * d_key + 2 * own.n_heads * d_value + of_heads + config.d_model


def mixer_weights(config: ModelConfig, kind: Mixer) -> int:
    """Weights of the matrices that one mixer multiplies a token with."""
    own, d = config.mixer or MixerConfig(), config.d_model
    if kind == "conv":
        return 4 * d * d
    d_key, d_value = config.mixer_sizes
    read = d * (mixer_outputs(config, kind) - d)
    faded = GATE_RANK * (d + own.n_heads * d_key) if own.decay == "channel" else 0
    return read + faded + own.n_heads * d_value * d


def attention_weights(config: ModelConfig) -> int:
    """Weights of the matrices that one attention layer multiplies a token with."""
    attention, d = config.attention, config.d_model
    d_q = attention.n_heads * config.head_size
    written = attention.n_heads * config.value_size * d
    if attention.kv_latent is None:
        return d * (d_q * (1 + attention.gate) + 2 * attention.kv_heads * config.head_size) + written
    rotated = config.positions.rotated or 0
    queries = d * d_q if attention.q_latent is None else attention.q_latent * (d + d_q)
    made = attention.n_heads * (config.head_size - rotated + config.value_size)  # keys and values, from the latent
    return queries + d * (rotated + attention.kv_latent) + attention.kv_latent * made + written


def convolution_weights(config: ModelConfig) -> int:
    """Weights of the convolution over the embeddings; 0 where there is none."""
    return 0 if config.input_convolution is None else config.input_convolution.width * config.d_model**2


def place_products(config: ModelConfig) -> int:
    """Products with relative positions in a score: content to position, and position to content."""
    return config.positions.has_c2p + config.positions.has_p2c


def _norm(config: ModelConfig) -> int:
    """Scale, and shift where there is one."""
    return _scales(config) * config.d_model


def _scales(config: ModelConfig) -> int:
    """Numbers of a norm for each feature: a scale, and a shift where there is one."""
    return 2 if config.norm.kind == "layernorm" and config.has_norm_bias else 1


def qk_norm_weights(config: ModelConfig) -> int:
    """Scales of the norms of queries and keys in one attention layer."""
    heads, kv_heads = config.attention.n_heads, config.attention.kv_heads
    normed = {None: 0, "head": 2, "each": heads + kv_heads, "width": heads + kv_heads}[config.attention.qk_norm]
    return normed * config.head_size


def _block_norms(config: ModelConfig, layer: Layer) -> int:
    """One norm a sublayer, two where sandwiched, one for all that share it; and those of queries and keys."""
    shared = config.parallel and config.shared_norm
    norms = 1 if shared else layer.sublayers * (2 if config.norm.placement == "sandwich" else 1)
    norms -= layer.index == 0 and layer.mixes and not config.norm.first
    of_heads = qk_norm_weights(config) if config.attends(layer.index) else 0
    return norms * _norm(config) + of_heads * (1 + layer.cross)


def _ends(config: ModelConfig) -> dict[str, int]:
    """Parameters before and after the blocks."""
    stacks = 2 if config.architecture == "encoder-decoder" else 1
    d, embedded = config.d_model, config.embed_size
    norms = _norm(config) * config.norm.final + _scales(config) * embedded * config.norm.of_embeddings
    stacked = config.max_seq_len + config.encoder_places if stacks == 2 else config.max_seq_len
    places, positions = stacked * embedded if config.positions.learned else 0, config.positions
    tables = config.encoder_layers + config.decoder_layers if positions.by_layer else stacks
    relative = tables * positions.buckets * config.attention.n_heads if positions.kind == "relative" else 0
    relative += positions.buckets * d if positions.kind == "disentangled" else 0
    norms += _norm(config) * positions.normed
    biases = config.vocab_size * config.has_logit_bias
    counts = {
        "token embedding": config.vocab_size * embedded,
        "positions": places + relative,
        "patch embedding": d * (config.patches.values + 1) if config.patches is not None else 0,
        "sound embedding": _sound_embedding(config),
        "segments": config.n_segments * embedded,
        "embedding projection": d * (embedded + config.bias) if config.d_embed is not None else 0,
        "norms": stacks * norms,
        "mlm head": embedded * (d + config.mlm_bias + _scales(config)) + biases if config.head == "mlm" else 0,
        "pooler": d * d + d if config.pooler else 0,
        "class head": _class_head(config),
        "unembedding": config.vocab_size * embedded if config.scores_tokens and not config.tie_embeddings else 0,
        "logit biases": biases if config.head == "lm" else 0,
    }
    return {component: count for component, count in counts.items() if count}


def _sound_embedding(config: ModelConfig) -> int:
    """Two convolutions over a spectrogram."""
    if config.sound is None:
        return 0
    return sum(config.d_model * (SPAN * channels + 1) for channels in (config.sound.mels, config.d_model))


def _class_head(config: ModelConfig) -> int:
    """A linear layer to the classes, and the dense layer and the norm before it where there are."""
    if (classes := config.classes) is None:
        return 0
    dense = config.d_model * (config.d_model + classes.dense_bias) if classes.dense is not None else 0
    score = len(classes.labels) * (config.d_model + classes.bias)
    return dense + (_norm(config) if classes.normed else 0) + score
