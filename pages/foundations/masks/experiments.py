"""The experiments of the page on masks."""

from collections.abc import Sequence

from tfcore.analysis.block.pitfall_findings import finding
from tfcore.analysis.block.pitfalls import Look, PitfallConfig, train_twins
from tfcore.analysis.foundations.masks import (
    Leak,
    MaskedAttention,
    blocked_weight,
    leak_comparison,
    leak_test,
    masked_attention,
    replacement_for,
    twin_losses,
)
from tfcore.figures.block.pitfalls import loss_figure
from tfcore.figures.foundations.masks import leak_figure, masked_weights_figure
from tfcore.figures.shown import Shown
from tfcore.masks import MaskConfig
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def first_tokens(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> list[str]:
    """The first tokens of a text."""
    return tokenizer.tokens(tokenizer.encode(text)[: min(limit, model.config.max_seq_len)])


def attend(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, mask: MaskConfig) -> MaskedAttention:
    """All heads of a model on the first tokens of a text, under a mask."""
    return masked_attention(model, tokenizer.encode(text)[: min(limit, model.config.max_seq_len)], mask)


def masked(attention: MaskedAttention, tokens: Sequence[str], name: str, layer: int, head: int) -> Shown:
    """A mask on a trained model: what becomes of the attention weights of a head."""
    figure = masked_weights_figure(attention, layer, head, tick_labels(tokens), height=420, masked=True)
    return Shown(figure, (blocked_weight(attention, name, layer, head, masked=True),))


def leak_of(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, mask: MaskConfig, position: int) -> Leak:
    """What changes in the outputs when the token at a position becomes another one."""
    ids = tokenizer.encode(text)[: min(limit, model.config.max_seq_len)]
    return leak_test(model, ids, mask, position, replacement_for(tokenizer.encode, ids[position]))


def leak(with_mask: Leak, without: Leak, tokens: Sequence[str], name: str) -> Shown:
    """The leak test: change one token, and look for the change in the outputs before it."""
    # Under a causal mask it is not small but exactly 0: the same bits.
    figure = leak_figure(with_mask, without, tick_labels(tokens), name, height=360)
    return Shown(figure, (leak_comparison(with_mask, without, name),))


def trained(config: PitfallConfig) -> list[Look]:
    """Two models trained to the end, one with a mistake."""
    return [look for look in train_twins(config) if look is not None]


def cheating(config: PitfallConfig, looks: Sequence[Look]) -> Shown:
    """A model trained without a mask beside one trained with it: it sees the answer, and learns nothing else."""
    return Shown(loss_figure(looks, finding(config, looks), config.steps, height=340), (twin_losses(looks),))
