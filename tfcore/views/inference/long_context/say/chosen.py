"""Findings on attention by blocks that queries choose."""

from tfcore.views.finding import Statement, state
from tfcore.views.inference.long_context.measure.chosen import BlockAttention, HeadBlocks


def _read(result: BlockAttention) -> str:
    earlier = result.config.count - 1
    parts = [f"its own block of {result.config.size} tokens"]
    if earlier:
        parts.append(
            "the earlier one that it chooses" if earlier == 1 else f"the {earlier} earlier ones that it chooses"
        )
    if result.config.first:
        parts.append("the first one")
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


def block_loss(result: BlockAttention) -> Statement:
    """The loss of the text with blocks in all layers and heads, and the weight that they keep."""
    if result.is_whole:
        return state(
            "blocks hold all",
            "The text has {tokens:counted token}, which {count} blocks of {size} hold: every query reads all before "
            "it. Paste a longer text, or take smaller blocks or fewer.",
            tokens=result.tokens,
            count=result.config.count,
            size=result.config.size,
        )
    return state(
        "block loss",
        "Each query and head reads {blocks}: {pairs:.0%} of the pairs, with {kept:.0%} of the full weight in the mean "
        "(the nearest blocks have {near:.0%}, the heaviest {best:.0%}). Loss of this text: {chosen:.2f} nats per "
        "token, {nearest:.2f} with the nearest blocks, {full:.2f} with full attention.",
        blocks=_read(result),
        pairs=result.pairs,
        kept=float(result.kept["chosen"].mean()),
        near=float(result.kept["nearest"].mean()),
        best=float(result.kept["heaviest"].mean()),
        chosen=result.losses["chosen"],
        nearest=result.losses["nearest"],
        full=result.full,
    )


def block_change(result: BlockAttention) -> Statement:
    """The change of the loss by blocks chosen by their mean key, and by the nearest blocks."""
    return state(
        "block change",
        "Choosing by the mean key changes the loss of this text by {chosen:+.2f} nats per token, reading the nearest "
        "blocks by {nearest:+.2f}.",
        chosen=result.losses["chosen"] - result.full,
        nearest=result.losses["nearest"] - result.full,
    )


def head_choice(result: BlockAttention, blocks: HeadBlocks, layer: int, head: int) -> Statement:
    """The share of one head's weight in the blocks that it chooses, and the query that loses most."""
    place, worst = result.layers.index(layer), int(blocks.kept.argmin())
    return state(
        "head choice",
        "Layer {layer}, head {head}: the blocks that its queries choose have {kept:.0%} of its weight ({near:.0%} in "
        "the nearest); the query that loses most, token {worst}, keeps {least:.0%}.",
        layer=layer,
        head=head,
        kept=float(result.kept["chosen"][place, head]),
        near=float(result.kept["nearest"][place, head]),
        worst=worst,
        least=float(blocks.kept[worst]),
    )
