"""The experiments of the page on masks."""

from tfcore import load
from tfcore.analysis.block.pitfall_findings import finding
from tfcore.analysis.block.pitfalls import PitfallConfig, train_twins
from tfcore.analysis.foundations.masking import leak_test, mask_cost, masked_attention, replacement_for
from tfcore.figures.block.pitfalls import loss_figure
from tfcore.figures.foundations.masks import leak_figure, weights_figure
from tfcore.figures.theme import Figure
from tfcore.masks import MaskConfig


def masked(model_name: str, text: str, tokens: int, mask: MaskConfig, layer: int, head: int) -> Figure:
    """A mask on a trained model: which pairs it leaves, and what becomes of the attention weights."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    cost = mask_cost(mask, len(ids))
    print(f"{mask.kind}: {cost.pairs:,} of {cost.n**2:,} pairs, {cost.share:.1%}; {cost.ahead:,} of them look ahead")
    result = masked_attention(model, ids, mask)
    print(f"{result.blocked_share[layer, head]:.0%} of the weight lay on pairs that the mask blocks")

    return weights_figure(result, layer, head, tokenizer.tokens(ids), height=420, masked=True)


def leak(model_name: str, text: str, tokens: int, mask: MaskConfig, position: int) -> Figure:
    """The leak test: change one token, and look for the change in the outputs before it."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    other = replacement_for(tokenizer.encode, ids[position])
    result = leak_test(model, ids, mask, position, other)
    free = leak_test(model, ids, MaskConfig(kind="bidirectional"), position, other)
    # Under a causal mask this is not small but exactly 0: the same bits.
    print(f"largest difference before token {position}: {result.before:.3g} with the mask, {free.before:.3g} without")

    return leak_figure(result, free, tokenizer.tokens(ids), mask.kind, height=360)


def cheating(seed: int, steps: int) -> Figure:
    """A model trained without a mask beside one trained with it: it sees the answer, and learns nothing else."""
    config = PitfallConfig(kind="mask", seed=seed, steps=steps)
    looks = [look for look in train_twins(config) if look is not None]
    for look in looks:
        print(f"step {look.step:3}: loss {look.loss[0]:.3f} without a mask, {look.loss[1]:.3f} with it")
    found = finding(config, looks)
    print(found.sentence)

    return loss_figure(looks, found, steps, height=340)
