"""Multi-head latent attention on a text: what is cached and what is rebuilt, of a model that was trained with it or of
one that latents are fitted to afterwards."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.tokens import token_heatmap
from tfcore.latent_attention import LatentAttention
from tfcore.measures import one_text
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding
from tfcore.views.kept import kept
from tfcore.views.model.latents import measure, say
from tfcore.views.model.latents.draw import losses_figure, vectors_figure
from tfcore.views.model.latents.measure import SHARES, CachedVectors, full_size, rank_of, with_latents
from tfcore.views.model.latents.measure import has_latents as has_latents
from tfcore.views.model.latents.measure import why_no_latents as why_no_latents
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view

TOKENS = 48  # of a text, at most
MOST_KEYS = 12  # written under a map, two of which stand side by side
_LATENT = r"\begin{aligned} c_t &= W_{DKV}\, h_t, \quad k_{t,i}^C = W_{UK}^i\, c_t, \quad v_{t,i} = W_{UV}^i\, c_t \\"
FORMULAS = {  # of a model trained with latents, and of one that they are fitted to
    True: _LATENT + r"k_t^R &= \mathrm{RoPE}(W_{KR}\, h_t), \quad k_{t,i} = [\,k_t^R;\ k_{t,i}^C\,] \end{aligned}",
    False: _LATENT + r"k_{t,i} &= \mathrm{RoPE}(k_{t,i}^C) \end{aligned}",
}
PAPERS = (
    "DeepSeek-V2, arXiv:2405.04434, sections 2.1.2 and 2.1.3: c and the rotated key, which all heads share, are "
    "cached, the matrices are trained, and W_UK can be multiplied into W_Q, so that no key has to be rebuilt at all. "
    "That is why the rotation is kept apart: between the two it would depend on the distance. Latents fitted to a "
    "trained model: TransMLA, arXiv:2502.07864; here keys are rebuilt first and rotated then."
)


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, TOKENS)


def _vectors(source: Source, text: str, layer: int, share: int) -> CachedVectors:
    model, ids = opened(source)[0], tokens_of(source, text).ids
    if has_latents(model.config):
        return measure.own_vectors(model, ids, layer)
    return measure.fitted_vectors(model, fit_of(source), ids, layer, rank_of(model.config, share))


def _of_share(source: Source, share: int | None) -> Transformer:
    """The model, with latents of so many per cent; None leaves it as it is."""
    model: Transformer = opened(source)[0]
    return model if share is None else with_latents(model, fit_of(source), rank_of(model.config, share))


def _loss(source: Source, text: str, share: int | None) -> float:
    return measure.loss(_of_share(source, share), tokens_of(source, text).ids)


def _patterns(source: Source, text: str, share: int | None) -> Float[ndarray, "layer head query key"]:
    """The weights of all heads: making the model with latents takes longer than reading a text with it."""
    return attention_maps(_of_share(source, share), tokens_of(source, text).ids).patterns


why_none_fitted = kept(measure.why_none_fitted, entries=64)
fit_of = kept(measure.fit, entries=3)
tokens_of = kept(_tokens, entries=64)
vectors_of = kept(_vectors, entries=16)
loss_of = kept(_loss, entries=256)
patterns_of = kept(_patterns, entries=8)


@view
def cached(model: Source, text: str, layer: int, share: int) -> View:
    """Keys and values of a text in one layer of a trained decoder, and the latent vector of each token that they are
    rebuilt from: the model's own with the rotated key, or, where it was trained without, fitted afterwards.

    Args:
        text: its first tokens are read.
        share: numbers of a latent that is fitted, per cent of those of keys and values.

    Raises:
        ValueError: a model that has no latents and none can be fitted to, no such layer, or no token.
    """
    config, tokens = opened(model)[0].config, tokens_of(model, text).tokens
    if not 0 <= layer < config.n_layers:
        raise ValueError(f"layer={layer} must be between 0 and {config.n_layers - 1}")
    if (why := why_no_latents(config)) is not None:
        raise ValueError(f"no latents of this model: {why}")
    if not tokens:
        raise ValueError("there is no token in this text; give one at least")
    vectors, name = vectors_of(model, text, layer, share), model if isinstance(model, str) else "This model"
    if has_latents(config):
        found = say.own_rebuilt(name, config, layer, vectors)
    else:
        found = say.fitted_rebuilt(name, config, layer, vectors, fit_of(model).tokens)
    return View(
        key="cached",
        title="What is cached, and what is rebuilt",
        result=vectors,
        chart=vectors_figure(vectors, tick_labels(tokens), config.attention.kv_heads, height=520),
        findings=(found,),
        table=lambda: pd.DataFrame(np.hstack((vectors.latent, vectors.rotated))).assign(token=tokens),
        min_width=640,
        formula=FORMULAS[has_latents(config)],
        papers=PAPERS,
        terms=("KV cache",),
        code=(
            (LatentAttention.keys_and_values, measure.own_vectors)
            if has_latents(config)
            else (measure.fit, measure.matrices_of, measure.fitted_vectors)
        ),
    )


@view
def losses(model: Source, text: str, share: int) -> View:
    """The loss of a text by the numbers that latents in every layer have. See `cached`.

    Raises:
        ValueError: as `cached`, or a text of fewer than two tokens.
    """
    config = opened(model)[0].config
    if (count := len(tokens_of(model, text).ids)) < 2:
        raise ValueError(f"no token is predicted in a text of {count}; give two at least")
    by_size = {rank_of(config, one): loss_of(model, text, one) for one in sorted({*SHARES, share})}
    base, rank = loss_of(model, text, None), rank_of(config, share)
    return View(
        key="losses",
        title="The loss by the numbers that are cached",
        result=by_size,
        chart=losses_figure(by_size, base, rank, height=300),
        findings=(say.losses_by_size(by_size, base, rank, full_size(config)),),
        table=lambda: pd.DataFrame({"numbers": list(by_size), "loss": list(by_size.values())}),
        min_width=320,
        code=(with_latents,),
    )


@view
def map_before(model: Source, text: str, layer: int, head: int) -> View:
    """The attention weights of one head as its model has them. See map_after."""
    attention = opened(model)[0].config.attention
    found = say.map_as_it_is(layer, head, attention.n_heads // attention.kv_heads)
    return _map("map before", "As the model has it", model, text, patterns_of(model, text, None)[layer, head], found)


@view
def map_after(model: Source, text: str, layer: int, head: int, share: int) -> View:
    """The attention weights of one head where every layer caches latents. See `cached`."""
    before, after = (patterns_of(model, text, one)[layer, head] for one in (None, share))
    found = say.map_with_latents(rank_of(opened(model)[0].config, share), measure.moved(before, after))
    return _map("map after", "With latents", model, text, after, found)


def _map(key: str, title: str, model: Source, text: str, weights: Float[ndarray, "query key"], found: Finding) -> View:
    tokens = tokens_of(model, text).tokens
    return View(
        key=key,
        title=title,
        result=weights,
        chart=token_heatmap(weights, tick_labels(tokens), most_keys=MOST_KEYS, height=380),
        min_width=340,
        cursor=True,
        findings=(found,),
        table=lambda: pd.DataFrame(weights, columns=pd.RangeIndex(len(tokens), name="key")).assign(query=tokens),
    )
