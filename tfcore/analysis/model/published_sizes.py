"""The parameters of known models beside the number that was published."""

from dataclasses import dataclass, replace

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import parameters


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
