"""From the Transformer of 2017 to today's, one switch at a time."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from tfcore.config import ModelConfig
from tfcore.measures import one_text
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.alike import seed_ranges
from tfcore.views.finding import Finding
from tfcore.views.kept import kept
from tfcore.views.model.modern import measure, say
from tfcore.views.model.modern.draw import effects_figure, head_figure, panels
from tfcore.views.model.modern.measure import READ, Speed, Switch, SwitchedHead
from tfcore.views.model.parts import change as change
from tfcore.views.sources import Source
from tfcore.views.view import View, view

TOKENS = 32  # of a text that one head is shown on
FORMULAS: dict[Switch, str] = {
    "cap": r"s_{ij} \leftarrow c \tanh(s_{ij} / c)",
    "sink": r"a_{ij} = \frac{\exp s_{ij}}{\exp s_{\mathrm{sink}} + \sum_k \exp s_{ik}}",
    "norm": r"s_{ij} = \frac{\mathrm{norm}(q_i) \cdot \mathrm{norm}(k_j)}{\sqrt{d_{head}}}, \qquad "
    r"\mathrm{norm}(x) = \frac{x}{\sqrt{\mathrm{mean}(x^2)}}",
}
PAPERS: dict[Switch, str] = {
    "cap": "Gemma 2, arXiv:2408.00118: 50 in attention, 30 for the logits.",
    "sink": "gpt-oss, arXiv:2508.10925, section 2.2. Why the first token takes what no token needs: StreamingLLM, "
    "arXiv:2309.17453, section 3.",
    "norm": "ViT-22B, arXiv:2302.05442, with LayerNorm; Gemma 3, arXiv:2503.19786, with RMSNorm "
    "in the place of soft caps. Both have a learned gain, here 1.",
}

versions_of = kept(measure.versions, entries=8)


@view
def switches(first: ModelConfig, size: str, step: int, seed: int, *, so_far: Sequence[Speed] | None = None) -> View:
    """From the Transformer of 2017 to today's, one switch at a time: parameters, cache, speed.

    Args:
        first: the model of 2017 that is counted.
        size: of it, in words.
        step: switches that are made.
        seed: of the weights of the models that are timed.
        so_far: the times until now; None times all models.
    """
    versions, speeds = versions_of(first), measure.timed(seed) if so_far is None else so_far
    trained = measure.trained()
    means = {name: one.mean for name, one in seed_ranges(trained.losses).items()} if trained else {}
    by_step = {speed.step: speed for speed in speeds}
    effect = say.switch_effect(versions, step, size)
    return View(
        key="effects",
        title="The effects of the switches",
        result=(versions, speeds, trained),
        chart=effects_figure(
            [version.name for version in versions], panels(versions, speeds, trained), step, height=400
        ),
        findings=(effect,),
        table=lambda: pd.DataFrame(
            [
                {
                    "switch": version.name,
                    "parameters": version.parameters,
                    "KV cache, values per token": version.cached,
                    f"prefill of {READ} tokens (s)": by_step[i].read if i in by_step else None,
                    "decode (s per token)": by_step[i].written if i in by_step else None,
                    **({"held-out loss, mean": means[version.name]} if means else {}),
                }
                for i, version in enumerate(versions)
            ]
        ),
        min_width=640,
        formula=(
            r"\begin{aligned}\text{2017: }& x \leftarrow \mathrm{norm}(x + F(x)) \\"
            r"\text{today: }& x \leftarrow x + F(\mathrm{norm}(x))\end{aligned}"
        ),
        papers=f"{say.timed_models()} {say.trained_models(trained) if trained else ''}".strip(),
        terms=("pre-LN", "grouped-query attention (GQA)", "SwiGLU", "weight tying"),
        code=(measure.versions, measure.race),
    )


# ---- one head ----


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, TOKENS)


def _switched(
    model: Transformer, tokenizer: Tokenizer, text: str, layer: int, head: int, switch: Switch, amount: float
) -> SwitchedHead:
    return measure.switched_head(model, _tokens(model, tokenizer, text).ids, layer, head, switch, amount)


tokens_of = kept(_tokens, entries=64)
switched_of = kept(_switched, entries=64)


@view
def head_before(model: Source, text: str, layer: int, head: int, switch: Switch, amount: float) -> View:
    """The attention weights of one head of a trained model, as it has them. See head_after."""
    result = switched_of(model, text, layer, head, switch, amount)
    return _head(model, text, layer, head, result, 0, say.head_as_it_is(result))


@view
def head_after(model: Source, text: str, layer: int, head: int, switch: Switch, amount: float) -> View:
    """One head of a trained model with a switch that it was trained without: a soft cap of its scores, a learned sink,
    or normalised queries and keys.

    Args:
        text: its first tokens are used.
        switch: "cap", "sink" or "norm".
        amount: the cap, or the score of the sink.
    """
    result = switched_of(model, text, layer, head, switch, amount)
    found = say.head_switched(result, switch, amount, tokens_of(model, text).tokens)
    shown = _head(model, text, layer, head, result, 1, found)
    return replace(shown, formula=FORMULAS[switch], papers=PAPERS[switch], code=(measure.switched_head,))


def _head(model: Source, text: str, layer: int, head: int, result: SwitchedHead, which: int, found: Finding) -> View:
    tokens = tokens_of(model, text).tokens
    weights = result.weights[which]
    return View(
        key=("before", "after")[which],
        title=f"Layer {layer}, head {head}, {('as it is', 'with the switch')[which]}",
        result=result,
        chart=head_figure(result, which, tick_labels(tokens), height=400),
        min_width=340,
        cursor=True,
        findings=(found,),
        table=lambda: pd.DataFrame(weights, columns=pd.RangeIndex(len(tokens), name="key")).assign(query=tokens),
    )
