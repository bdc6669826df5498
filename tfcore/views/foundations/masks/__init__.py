"""Attention masks: the pairs that one allows, what it does to the attention of a trained model, and what leaks."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import pandas as pd
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_weights
from tfcore.charts.tokens import mask_figure
from tfcore.charts.twins import loss_figure
from tfcore.masks import bidirectional
from tfcore.measures import one_text
from tfcore.measures.heads.kinds import Place
from tfcore.measures.leaks import Leak, leak_test, masked_outputs, replacement_for
from tfcore.measures.mask_cost import mask_cost
from tfcore.measures.mask_patterns import FUNCTIONS, MaskConfig, build
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.pitfalls import PitfallConfig, PitfallEvaluation, train_to_the_end, train_twins
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.masks.draw import leak_figure, masked_scores_figure, masked_weights_figure
from tfcore.views.foundations.masks.measure import MaskedAttention, masked_attention
from tfcore.views.foundations.masks.say import (
    NAMES,
    AllowedPairs,
    LeakComparison,
    blocked_scores,
    blocked_weight,
    grown_weights,
    largest_score,
    mask_of_layer,
    twin_losses,
)
from tfcore.views.kept import kept
from tfcore.views.pitfall_remarks import remarks
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import Metric, View, view

TOKENS = 64  # of a text that are used
LONG = 1_024  # tokens for which the pairs are counted as well
COLUMN = 13  # pixels of a token under the leak, at least
FREE = MaskConfig(kind="bidirectional")
FORMULA = (
    r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\quad "
    r"M_{ij} = 0 \text{ if } i \text{ may see } j,\ -\infty \text{ if not}"
)


# ---- the mask, and a model under it ----


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, TOKENS)


def _attention(model: Transformer, tokenizer: Tokenizer, text: str, mask: MaskConfig) -> MaskedAttention:
    return masked_attention(model, _tokens(model, tokenizer, text).ids, mask)


tokens_of = kept(_tokens, entries=64)
attention_of = kept(_attention, entries=12)
cost_of = kept(mask_cost, entries=128)


@view
def allowed(model: Source, text: str, mask: MaskConfig, layer: int = 0) -> View:
    """Which pairs of query and key a mask allows, on the first tokens of a text.

    Args:
        model: whose tokenizer cuts the text.
        layer: of an alternating mask, which others do not depend on.
    """
    tokens = tokens_of(model, text).tokens
    pairs = build(mask, len(tokens), layer).numpy()
    name = mask_of_layer(mask, layer)
    counted = AllowedPairs(name, cost_of(mask, len(tokens), layer), cost_of(mask, LONG, layer))
    return View(
        key="mask",
        title="The mask",
        result=pairs,
        chart=mask_figure(pairs, tick_labels(tokens), height=480),
        min_width=420,
        cursor=True,
        described=state("mask", "The mask {pairs}", pairs=counted),
        findings=(counted,),
        note="Violet: allowed. Grey, hatched: blocked.",
        table=lambda: _pairs_table(pairs, tokens, "allowed"),
        formula=FORMULA,
        papers="The causal mask: Attention Is All You Need, arXiv:1706.03762, section 3.2.3.",
        terms=("attention mask", "causal mask", "bidirectional attention"),
        code=(FUNCTIONS[mask.kind], attention_weights),
    )


@view
def scores(model: Source, text: str, mask: MaskConfig, layer: int, head: int) -> View:
    """Scores of one head of a model that runs under a mask, before the mask is applied to them."""
    return _map("Scores", model, text, mask, (layer, head), masked=False)


@view
def masked_scores(model: Source, text: str, mask: MaskConfig, layer: int, head: int) -> View:
    """Scores of one head with the mask over them: a blocked score becomes minus infinity."""
    return _map("Scores", model, text, mask, (layer, head), masked=True)


@view
def weights(model: Source, text: str, mask: MaskConfig, layer: int, head: int) -> View:
    """Attention weights of one head of a model that runs under a mask, had its layer none."""
    return _map("Weights", model, text, mask, (layer, head), masked=False)


@view
def masked_weights(model: Source, text: str, mask: MaskConfig, layer: int, head: int) -> View:
    """A mask on a trained model: what becomes of the attention weights of one head."""
    return _map("Weights", model, text, mask, (layer, head), masked=True)


def _map(
    what: Literal["Scores", "Weights"], model: Source, text: str, mask: MaskConfig, place: Place, *, masked: bool
) -> View:
    attended, tokens = attention_of(model, text, mask), tokens_of(model, text).tokens
    if place[0] not in (there := opened(model)[0].config.attention_layers):
        raise ValueError(
            f"layer {place[0]} has no attention that a mask acts on; these have: {', '.join(map(str, there))}"
        )
    (layer, head), n, when = place, len(tokens), "after the mask" if masked else "before the mask"
    finding: Finding
    if what == "Scores":
        draw, values = masked_scores_figure, attended.scores
        allowed = attended.allowed[layer]
        finding = blocked_scores(allowed) if masked else largest_score(values[place], allowed, tokens)
    else:
        draw, values = masked_weights_figure, attended.masked if masked else attended.unmasked
        share = float(attended.blocked_share[place])
        unmasked = attended.unmasked[place]
        grown = grown_weights(unmasked, attended.masked[place], attended.allowed[layer])
        finding = grown if masked else blocked_weight(share, NAMES[mask.kind])
    shown, title = values[place].copy(), f"{what} {when}"
    return View(
        key=title,
        title=title,
        result=shown,
        chart=draw(attended, layer, head, tick_labels(tokens), height=420, masked=masked),
        min_width=420,
        cursor=True,
        described=state(
            "head",
            "{what} of layer {layer}, head {head} {when}: {finding}",
            what=what,
            layer=layer,
            head=head,
            when=when,
            finding=finding,
        ),
        findings=(state("map", "{title}, (query, key) = ({n}, {n}): {finding}", title=title, n=n, finding=finding),),
        table=lambda: _pairs_table(shown, tokens, title),
    )


def _pairs_table(
    matrix: Bool[ndarray, "query key"] | Float[ndarray, "query key"], tokens: Sequence[str], value: str
) -> pd.DataFrame:
    rows = pd.DataFrame(matrix).stack().rename(value).rename_axis(["query", "key"]).reset_index()
    return rows.assign(query_token=[tokens[i] for i in rows["query"]], key_token=[tokens[i] for i in rows["key"]])


# ---- what leaks ----


def _outputs(model: Transformer, tokenizer: Tokenizer, text: str, mask: MaskConfig) -> Float[Tensor, "seq output"]:
    return masked_outputs(model, _tokens(model, tokenizer, text).ids, mask)


# Of a text as it is, which every position is compared with: 10 MB of smollm2.
outputs_of = kept(_outputs, entries=6)


def _leak(reading: Reading, mask: MaskConfig, position: int) -> Leak:
    model, tokenizer = opened(reading.model)
    ids, unchanged = tokens_of(reading.model, reading.text).ids, outputs_of(reading.model, reading.text, mask)
    return leak_test(model, ids, mask, position, replacement_for(tokenizer.encode, ids[position]), unchanged)


leak_of = kept(_leak, entries=256)


class Leaks(NamedTuple):
    """A leak test with a mask and one without, on the same text.

    Args:
        masked, free: with the mask and without.
        changed, replacement: the token that is changed, and the one that takes its place.
    """

    masked: Leak
    free: Leak
    changed: str
    replacement: str


@view
def leak(model: Source, text: str, mask: MaskConfig, position: int) -> View:
    """The leak test: change one token of a text, and look for a change in the outputs before it.

    Under a causal mask it is not small but exactly 0: the same bits.

    Args:
        position: of the token to change, from 1 on.
    """
    ids, tokens, _ = tokens_of(model, text)
    masked, free = (leak_of(Reading(model, text), one, position) for one in (mask, FREE))
    name, n, tokenizer = NAMES[mask.kind], len(tokens), opened(model)[1]
    replacement = one_text.piece_of(tokenizer, replacement_for(tokenizer.encode, ids[position]))
    return View(
        key="leak",
        title="The leak test",
        result=Leaks(masked, free, tokens[position], replacement),
        chart=leak_figure(masked, free, tick_labels(tokens), name, height=360),
        min_width=max(350, 90 + COLUMN * n),
        findings=(LeakComparison(name, position, masked.equal, masked.before, free.before),),
        note=f"Largest absolute difference of a logit at each of {n} positions; shaded: before the changed token.",
        metrics=tuple(
            Metric(f"Largest difference before the changed token, {who}", one.before_text, one.verdict)
            for one, who in ((masked, f"mask: {name}"), (free, "no mask"))
        ),
        table=lambda: pd.DataFrame({"token": tokens, name: masked.difference, "no mask": free.difference}),
        code=(leak_test,),
    )


@view
def trained(config: PitfallConfig, *, so_far: Sequence[PitfallEvaluation] | None = None) -> View:
    """A model trained without a mask beside one trained with it: it sees the answer, and learns nothing else.

    Args:
        config: of a training with the mistake "mask".
        so_far: what is known of the training, at least one look; None trains both here and now.
    """
    looks = train_to_the_end(config) if so_far is None else so_far
    remarked = remarks(config, looks)
    return View(
        key="cheating",
        title="Trained without a mask",
        result=looks,
        chart=loss_figure(looks, remarked.loss, remarked.marks, config.steps, height=340),
        findings=(twin_losses(looks),),
        conclusions=(remarked,),
        table=lambda: pd.DataFrame([(k.step, *k.loss) for k in looks], columns=["step", "no mask", "mask"]),
        code=(bidirectional, train_twins),
    )
