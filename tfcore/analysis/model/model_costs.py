"""What a model costs, in one view: parameters by the formula and exactly, operations, memory."""

from dataclasses import dataclass, replace

from tfcore.analysis.inference.cache_size import BITS, Precision, cache_shape
from tfcore.analysis.model.flop_count import FlopCount, flops
from tfcore.analysis.model.memory_use import SIZES, Dtype, MemoryUse, Optimizer, memory
from tfcore.analysis.model.parameter_count import ParameterCount, parameters
from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import blank
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """Everything that follows from a config by arithmetic.

    Args:
        count: the parameters.
        formula: what 12 N d^2 + V d says instead.
        other_tying: the total, were the unembedding tied where it is not, or not where it is.
        seq: tokens of a text: as many as were asked for, or the model's context where that is less.
        flops: of a text of seq tokens.
        memory: of training on a batch, and of generating.
        cached: bytes that one token leaves in the decoder's own cache; an encoder keeps none.
    """

    count: ParameterCount
    formula: int
    other_tying: int
    seq: int
    flops: FlopCount
    memory: MemoryUse
    cached: int

    @property
    def formula_error(self) -> float:
        """The formula over the exact count, minus 1."""
        return self.formula / self.count.total - 1

    @property
    def weights(self) -> dict[Precision, int]:
        """Bytes of the weights alone in every precision; the scales that int8 and int4 need besides are left out."""
        return {name: self.count.total * bits // 8 for name, bits in BITS.items()}


@dataclass(frozen=True, slots=True)
class PublishedSizes:
    """Sizes that are quoted of an encoder trained to predict masked tokens.

    Args:
        without_heads: with its pooler, where it has one, and without any head: `transformers.BertModel`.
        next_sentence: BERT's second head, for next-sentence prediction: 2 d + 2. It reads the pooler, and is no part
            of ModelConfig.
        checkpoint: what was published: both heads.
    """

    without_heads: int
    next_sentence: int
    checkpoint: int


def published_sizes(config: ModelConfig) -> PublishedSizes | None:
    """The sizes quoted of such an encoder (arXiv:1810.04805, section 3.1); None of other models."""
    if config.head != "mlm":
        return None
    count = parameters(config)
    next_sentence = 2 * config.d_model + 2 if config.pooler else 0
    return PublishedSizes(count.total - count.by_component["mlm head"], next_sentence, count.total + next_sentence)


def formula(config: ModelConfig) -> int:
    """12 N d^2 + V d: per block 4 d^2 for attention and 8 d^2 for a feed-forward layer of 4 d, and one table of
    embeddings (arXiv:2001.08361, table 1, and the table). It knows no GQA, no gates, no experts, no norms."""
    return 12 * (config.encoder_layers + config.decoder_layers) * config.d_model**2 + config.vocab_size * config.d_model


def model_costs(
    config: ModelConfig, *, batch: int = 1, seq: int = 1024, dtype: Dtype = "bfloat16", optimizer: Optimizer = "adamw"
) -> ModelCosts:
    """Count it all; nothing is built. A seq beyond the model's context is cut to it."""
    seq = min(seq, config.max_seq_len)
    tied = replace(config, tie_embeddings=not config.tie_embeddings)
    return ModelCosts(
        parameters(config),
        formula(config),
        parameters(tied).total,
        seq,
        flops(config, seq),
        memory(config, batch=batch, seq=seq, dtype=dtype, optimizer=optimizer),
        cached(config, dtype),
    )


def cached(config: ModelConfig, dtype: Dtype) -> int:
    """2 * layers * kv_heads * d_head * bytes per value, of the decoder: what one token leaves there, however long the
    text is. Keys and values of the encoder's output, which cross-attention keeps besides, are not in it."""
    if config.architecture == "encoder":
        return 0
    shape = cache_shape(config)
    return shape.layers * shape.numbers * SIZES[dtype]


def built(config: ModelConfig) -> int:
    """The parameters of the model itself, built without memory (on torch's meta device)."""
    model: Transformer = blank(config)
    return sum(parameter.numel() for parameter in model.parameters())
