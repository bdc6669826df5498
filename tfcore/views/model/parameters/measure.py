"""The costs of a model: parameters by the formula, exactly and as published, operations, memory."""

from dataclasses import dataclass, replace

from tfcore.config import ModelConfig
from tfcore.measures.flop_count import FlopCount, flops
from tfcore.measures.kv_bytes import cache_shape, token_bytes
from tfcore.measures.memory_use import MemoryUse, Optimizer, memory
from tfcore.measures.parameter_count import ParameterCount, parameters, rule_of_thumb
from tfcore.measures.precision import Dtype, Precision, stored_bytes
from tfcore.views.finding import Finding


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
        cached: bytes of one token in the decoder's own cache; keys and values of the encoder's output, which
            cross-attention keeps besides, are not in it, and an encoder keeps none.
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

    def weights(self, precision: Precision) -> int:
        """Bytes of the weights alone."""
        return stored_bytes(self.count.total, precision)


def model_costs(
    config: ModelConfig, *, batch: int = 1, seq: int = 1024, dtype: Dtype = "bfloat16", optimizer: Optimizer = "adamw"
) -> ModelCosts:
    """Count it all; nothing is built. A seq beyond the model's context is cut to it."""
    seq = min(seq, config.max_seq_len)
    tied = replace(config, tie_embeddings=not config.tie_embeddings)
    return ModelCosts(
        parameters(config),
        rule_of_thumb(config),
        parameters(tied).total,
        seq,
        flops(config, seq),
        memory(config, batch=batch, seq=seq, dtype=dtype, optimizer=optimizer),
        token_bytes(cache_shape(config), dtype) if config.decoder_layers else 0,
    )


def bytes_of(use: MemoryUse, purpose: str) -> dict[str, int]:
    """The bytes that take memory in training, or in generating, by what they are."""
    if purpose == "generate":
        return {"weights": use.weights, "KV cache": use.kv_cache + use.cross_cache}
    kept = {} if use.activations is None else {"activations": sum(use.activations.values())}
    return {"weights": use.weights, "gradients": use.gradients, "optimizer": use.optimizer, **kept}


@dataclass(frozen=True, slots=True)
class PublishedSizes(Finding):
    """The sizes of BERT's published classes: which heads one counts is what they differ in.

    Args:
        masked: with the head that predicts masked tokens and without the pooler: `transformers.BertForMaskedLM`.
        mlm_head: parameters of that head.
        base: with the pooler and without any head: `transformers.BertModel`.
        pooler: parameters of the pooler, d^2 + d.
        checkpoint: with the pooler and both heads, that for next-sentence prediction too (2 d + 2, it reads the
            pooler): `transformers.BertForPreTraining`, which is what was published.
    """

    masked: int
    mlm_head: int
    base: int
    pooler: int
    checkpoint: int

    @property
    def sentence(self) -> str:
        return (
            f"BertForMaskedLM: {self.masked:,}, {self.mlm_head:,} of them the masked language model's head. BertModel: "
            f"{self.base:,}, without heads, {self.pooler:,} of them the pooler. The published checkpoint, with the "
            f"head for next-sentence prediction too: {self.checkpoint:,}."
        )


def published_sizes(config: ModelConfig) -> PublishedSizes | None:
    """The sizes quoted of such an encoder (arXiv:1810.04805, section 3.1); None of other models."""
    if config.head != "mlm":
        return None
    masked, d = parameters(replace(config, pooler=False)), config.d_model
    head, pooler, next_sentence = masked.by_component["mlm head"], d * d + d, 2 * d + 2
    base = masked.total - head + pooler
    return PublishedSizes(masked.total, head, base, pooler, base + head + next_sentence)
