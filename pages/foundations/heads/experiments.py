"""The experiments of the page on attention heads."""

from tfcore import Transformer, load
from tfcore.analysis.foundations.attention_maps import (
    AttentionMaps,
    Part,
    attention_maps,
    head_mean,
    longest,
    overlap,
    pool,
    rollout,
)
from tfcore.analysis.foundations.head_cuts import cut_anew
from tfcore.analysis.foundations.heads import repeated_tokens
from tfcore.analysis.model.translation import source_ids, written
from tfcore.figures.foundations.head_cuts import cut_figure
from tfcore.figures.theme import Figure
from tfcore.figures.tokens import token_heatmap


def read(model: Transformer, ids: list[int]) -> AttentionMaps:
    """Attention of every head; which of them do induction is measured on random tokens said twice."""
    config, inducing = model.config, None
    if config.architecture == "decoder" and config.head != "none":
        inducing = repeated_tokens(model, rows=8 if config.vocab_size <= 8_192 else 1).induction
    return attention_maps(model, ids, inducing)


def head(model_name: str, text: str, layer: int, head: int, token: int) -> Figure:
    """What one attention head of a trained model looks at (arXiv:1706.03762, equation 1)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: longest(model.config)]
    tokens = tokenizer.tokens(ids)
    found = read(model, ids)
    pattern = found.patterns[layer, head]  # (query, key); each row sums to 1
    print(f"layer {layer}, head {head}: {found.heads.kind[layer, head]} {found.heads.score[layer, head]:.2f}")
    for key in pattern[token].argsort()[::-1][:5]:
        print(f"{tokens[token]!r} looks at {tokens[key]!r} with weight {pattern[token, key]:.2f}")

    return token_heatmap(pattern, tokens)


def layer_mean(model_name: str, text: str, layer: int, token: int) -> Figure:
    """The mean of all heads of a layer: what they agree on, which is little."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: longest(model.config)]
    tokens = tokenizer.tokens(ids)
    pattern = head_mean(attention_maps(model, ids).patterns)[layer]
    for key in pattern[token].argsort()[::-1][:5]:
        print(f"{tokens[token]!r} looks at {tokens[key]!r} with weight {pattern[token, key]:.2f}")

    return token_heatmap(pattern, tokens)


def rolled_out(model_name: str, text: str, layer: int, token: int) -> Figure:
    """Attention rollout: layers multiplied, half of each being the residual connection (arXiv:2005.00928)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: longest(model.config)]
    tokens = tokenizer.tokens(ids)
    pattern = rollout(attention_maps(model, ids).patterns)[layer]
    for key in pattern[token].argsort()[::-1][:5]:
        print(f"of {tokens[token]!r}, {pattern[token, key]:.0%} come from {tokens[key]!r}")

    return token_heatmap(pattern, tokens)


def translating_head(model_name: str, text: str, part: Part, layer: int, head: int) -> Figure:
    """What one attention head looks at while a model translates."""
    model, tokenizer = load(model_name)
    room = longest(model.config)
    ids = source_ids(tokenizer, text)
    ids = [*ids[: min(len(ids), room) - 1], ids[-1]]  # the last one says that the text ends
    # The decoder reads what it has written until now, one place further.
    translation = written(model, tokenizer, ids)
    decoder_ids = [model.config.start_id, *translation[:-1]][:room]
    print(tokenizer.decode(translation))
    found = attention_maps(model, ids, part=part, decoder_ids=decoder_ids)
    source, target = tokenizer.tokens(ids), tokenizer.tokens(decoder_ids)
    queries, keys = source if part == "encoder" else target, target if part == "decoder" else source

    return token_heatmap(found.patterns[layer, head], queries, keys)


def two_heads(model_name: str, text: str, layer: int, head: int, other_layer: int, other_head: int) -> Figure:
    """Two heads on one text: how much of their weight lies on the same tokens."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: longest(model.config)]
    patterns = attention_maps(model, ids).patterns  # (layer, head, query, key)
    one, other = patterns[layer, head], patterns[other_layer, other_head]
    print(f"on the same tokens: {overlap(one, other):.0%}")

    return token_heatmap(other, tokenizer.tokens(ids))


def two_texts(model_name: str, text: str, other: str, layer: int, head: int) -> Figure:
    """One head on two texts: a head that does one thing does it on every text."""
    model, tokenizer = load(model_name)
    for words in (text, other):
        ids = tokenizer.encode(words)[: longest(model.config)]
        found = read(model, ids)
        print(f"{words[:40]!r}...: {found.heads.kind[layer, head]} {found.heads.score[layer, head]:.2f}")

    return token_heatmap(found.patterns[layer, head], tokenizer.tokens(ids))


def cuts(model_name: str, text: str, tokens: int, layer: int, n_heads: int) -> Figure:
    """One width cut into more or fewer heads: the same queries and keys, reshaped (arXiv:1706.03762, section 3.2.2)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[:tokens]
    cut = cut_anew(model, ids, layer, n_heads)
    d_head = model.config.n_heads * model.config.head_size // n_heads
    print(f"{n_heads} heads of {d_head} dimensions; it was trained with {model.config.n_heads}")
    print(f"attention maps, shape (head, query, key) = {cut.patterns.shape}")

    return cut_figure(pool(cut.patterns, tokens), d_head, height=420)
