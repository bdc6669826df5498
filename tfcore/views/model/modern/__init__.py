"""From the Transformer of 2017 to today's, one switch at a time."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import pandas as pd

from tfcore.config import ModelConfig
from tfcore.measures import one_text
from tfcore.measures.attention_sizes import attention_sizes
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.alike import seed_difference, seed_ranges
from tfcore.training.hyper_connections import HyperConnection, read_from, write_to
from tfcore.training.multi_token import SecondPrediction, speculated
from tfcore.training.second_wave import switched
from tfcore.views.finding import Finding
from tfcore.views.kept import kept
from tfcore.views.model.modern import measure, say
from tfcore.views.model.modern.draw import (
    connections_figure,
    effects_figure,
    first_token_figure,
    guesses_panels,
    head_figure,
    panels,
    second_wave_panels,
)
from tfcore.views.model.modern.measure import READ, FirstTokenWeights, Speed, Switch, SwitchedHead
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


# ---- after 2023 ----

WAVE_FORMULAS: dict[str, str] = {
    "QK-norm": FORMULAS["norm"],
    "soft cap": FORMULAS["cap"],
    "sink": FORMULAS["sink"],
    "norm after": r"x \leftarrow x + \mathrm{norm}(F(x))",
    "NoPE layers": r"s_{ij} = q_i \cdot k_j / \sqrt{d_{head}} \quad\text{without a rotation, in every second layer}",
    "MLA": r"c_t = \mathrm{norm}(W_{DKV}\, x_t), \quad k_t^h = [\,W_{UK}^h c_t;\ \mathrm{RoPE}(W_{KR}\, x_t)\,], "
    r"\quad v_t^h = W_{UV}^h c_t",
    "gate": r"o = W_O \big(\mathrm{concat}_h(A_h V_h) \odot \sigma(W_G\, x)\big)",
    "registers": r"[r_1, \dots, r_4, x_1, \dots, x_n]",
    "Muon": r"W \leftarrow W - \eta \big(0.2 \sqrt{\max(n, m)}\ \mathrm{NS}_5(M) + \lambda W\big)"
    r", \qquad M = U S V^\top \Rightarrow \mathrm{NS}_5(M) \approx U V^\top, \quad W \in \mathbb{R}^{n \times m}",
    "multi-token": r"L = L_{t+1} + 0.3\, L_{t+2}, \qquad h'_t = \mathrm{block}\big(W\,[\mathrm{norm}(h_t);\ "
    r"\mathrm{norm}(e_{t+1})]\big), \quad p(x_{t+2}) = \mathrm{softmax}(W_U\, \mathrm{norm}(h'_t))",
    "hyper-connections": r"x = \sum_m a_m h_m, \qquad h_n \leftarrow \sum_m A_{mn} h_m + b_n F(\mathrm{norm}(x)), "
    r"\qquad m, n = 1, \dots, 4",
}
WAVE_PAPERS: dict[str, str] = {
    "QK-norm": PAPERS["norm"],
    "soft cap": PAPERS["cap"],
    "sink": PAPERS["sink"],
    "norm after": "OLMo 2, arXiv:2501.00656, section 3.2: the norm reads what a layer writes, and queries and keys are "
    "normalised over all heads together.",
    "NoPE layers": "Layers without positions: arXiv:2305.19466; every fourth layer in SmolLM3 and in Command A "
    "(arXiv:2504.00698).",
    "MLA": "DeepSeek-V2, arXiv:2405.04434, section 2.1, equations 9 to 17.",
    "gate": "arXiv:2505.06708, section 2.2; Qwen3-Next.",
    "registers": "Before the patches of a picture: arXiv:2309.16588, section 2.2. One learned token before a text: "
    "StreamingLLM, arXiv:2309.17453, section 3.3.",
    "Muon": "arXiv:2502.16982, section 2, equation 4; five Newton-Schulz steps as in its equation 2.",
    "multi-token": "DeepSeek-V3, arXiv:2412.19437, section 2.2, with one more token; in arXiv:2404.19737 the heads "
    "read the state alone.",
    "hyper-connections": "Static, with four streams: arXiv:2409.19606, section 2. mHC (arXiv:2512.24880, section 4) "
    "computes weights from the streams, lets none be negative, and makes rows and columns of the mixing matrix add up "
    "to 1 by Sinkhorn-Knopp, which keeps the mean of the streams.",
}


@view
def second_wave(switch: str) -> View:
    """Switches of blocks after 2023, each alone against one base, trained alike: loss, scores, first token, stream.

    Args:
        switch: one of `tfcore.training.second_wave`.

    Raises:
        CheckpointError: while the table of its recipe is not there.
        ValueError: there is no such switch.
    """
    wave = measure.second_wave_trained()
    place = wave.place(switch)
    chosen = wave.switches[place]
    return View(
        key="second wave",
        title="Switches after 2023",
        result=wave,
        chart=effects_figure(wave.names, second_wave_panels(wave), place, height=410),
        findings=(say.switch_difference(chosen), say.switch_sizes(wave, chosen)),
        table=lambda: pd.DataFrame(
            [
                {
                    "switch": one.version.name,
                    "parameters": one.version.parameters,
                    "KV cache, values per token": one.version.cached,
                    "held-out loss, mean": sum(one.losses) / len(one.losses),
                    "difference to the base": one.difference.mean,
                    "from": one.difference.low,
                    "to": one.difference.high,
                    **asdict(one.sizes),
                }
                for one in wave.switches
            ]
        ),
        min_width=580,
        formula=WAVE_FORMULAS[switch],
        papers=f"{WAVE_PAPERS[switch]} {say.second_wave_models(wave)}",
        terms=("QK-norm",),
        code=(switched, attention_sizes, seed_difference),
    )


@view
def second_guesses() -> View:
    """The second prediction of models trained with it: its loss, how often the decoder confirms it, and the tokens that
    a pass of the decoder brings with one guess.

    Raises:
        CheckpointError: while the table of its recipe is not there.
    """
    guesses = measure.second_guesses()
    return View(
        key="second guesses",
        title="The token after the next, guessed",
        result=guesses,
        chart=effects_figure([f"seed {seed}" for seed in range(len(guesses))], guesses_panels(guesses), -1, height=170),
        findings=(say.guesses_confirmed(guesses),),
        table=lambda: pd.DataFrame(map(asdict, guesses)).rename_axis("seed").reset_index(),
        min_width=560,
        terms=("speculative decoding",),
        code=(SecondPrediction, speculated),
    )


@view
def connections(seed: int) -> View:
    """The weights that layers read, write and mix four residual streams by, in a model trained with them.

    Args:
        seed: of the model.

    Raises:
        CheckpointError: while the table of its recipe is not there.
        ValueError: there is no model of that seed.
    """
    learned = measure.connections()
    if not 0 <= seed < len(learned):
        raise ValueError(f"seed={seed} must be between 0 and {len(learned) - 1}")
    names = say.layer_names(learned.shape[1])
    return View(
        key="connections",
        title="Weights between four streams",
        result=learned[seed],
        chart=connections_figure(learned[seed], names, height=260),
        findings=(say.streams_mixed(learned, seed),),
        table=lambda: pd.DataFrame(
            [
                {"layer": name, "from": source, **{str(to): value for to, value in enumerate(row)}}
                for name, matrix in zip(names, learned[seed], strict=True)
                for source, row in enumerate(matrix)
            ]
        ),
        min_width=620,
        code=(HyperConnection, read_from, write_to),
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
        min_width=310,
        cursor=True,
        findings=(found,),
        table=lambda: pd.DataFrame(weights, columns=pd.RangeIndex(len(tokens), name="key")).assign(query=tokens),
    )


# ---- the first token ----

FIRST_TOKENS = 128  # of a text, at most


def _first_tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, FIRST_TOKENS)


def _first_token(model: Transformer, tokenizer: Tokenizer, text: str) -> FirstTokenWeights:
    return measure.first_token(model, _first_tokens(model, tokenizer, text).ids)


first_tokens_of = kept(_first_tokens, entries=64)
first_token_of = kept(_first_token, entries=64)


@view
def first_token(model: Source, text: str) -> View:
    """The attention weight of every head of a decoder on the first token of a text, where heads rest that have nothing
    to attend to.

    Args:
        text: its first tokens are read, at least two.
    """
    result = first_token_of(model, text)
    heads = range(result.weights.shape[1])
    return View(
        key="first token",
        title="Weight on the first token",
        result=result,
        chart=first_token_figure(result, height=min(460, 120 + 24 * len(result.layers))),
        min_width=320,
        findings=(say.first_token_weight(result, model if isinstance(model, str) else "This model"),),
        table=lambda: pd.DataFrame(result.weights, columns=[f"head {head}" for head in heads]).assign(
            layer=result.layers, stream=result.stream, values=result.values
        ),
        papers="Attention sinks: StreamingLLM, arXiv:2309.17453, section 3.1. The long vector of the first token: "
        "massive activations, arXiv:2402.17762, section 2.",
        terms=("attention sink",),
        code=(measure.first_token,),
    )
