"""Section of the page on the residual stream: direct logit attribution, each part's share in one token's logit."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.stream import experiments as experiments
from pages.inside.stream.choice import TOKENS, Choice
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, figure
from tfcore.analysis.inside import contributions as measures
from tfcore.analysis.inside.contributions import Against, Contributions, Parts
from tfcore.figures.block.neurons import promoted_figure
from tfcore.figures.inside import boards
from tfcore.figures.inside import contributions as figures

FORWARD, UP, DOWN = "feed-forward", 8, 3


@st.cache_resource(max_entries=32, show_spinner=False)
def parts_at(model: str, pasted: str, position: int) -> Parts:
    """Small, and read only."""
    return measures.stream_parts(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids, position)


@cache.data(max_entries=256)
def split(model: str, pasted: str, position: int, token: int, against: Against) -> Contributions:
    return measures.contributions(cache.model(model)[0], parts_at(model, pasted, position), token, against)


@cache.data(max_entries=256)
def promoted(
    model: str, pasted: str, position: int, layer: int, head: int | None
) -> tuple[list[int], list[str], list[float]]:
    """The tokens whose logits one part raises most and lowers most: ids, pieces, logits."""
    network, tokenizer = cache.model(model)
    lift = measures.promoted_by(network, parts_at(model, pasted, position), layer, head)
    order = np.argsort(-lift, kind="stable")
    ids = [*order[:UP].tolist(), *order[-DOWN:].tolist()]
    return ids, tokenizer.tokens(ids), lift[ids].tolist()


def who_wrote(choice: Choice) -> None:
    """The section."""
    found = split(*choice.key, choice.token, choice.against)
    left, right = st.columns([5, 6], gap="large")
    with left:
        adding_up(choice, found)
    with right:
        one_part(choice, found)
    page.what_to_see(
        "Each bar on the left begins where the one before it ended, and the last bar is the logit. The board splits it "
        "by head. Blue shares are negative: that part favours other tokens. These are direct effects only: a head "
        "whose output is used by a later head gets no credit for it here, and yet the prediction may depend on it. "
        "Ablate it on the page on interventions to see."
    )
    st.latex(r"x_L = x_{embedding} + \sum_{\ell} \Big( \sum_{h} \mathrm{head}_{\ell,h} + \mathrm{FF}_\ell \Big)")
    st.latex(
        r"\mathrm{logit}_t - \mathrm{logit}_{ref} = \sum_{parts} \frac{\gamma \odot part}{s} \cdot "
        r"\big(W_U[t] - W_U[ref]\big)"
    )
    st.caption("s is what the final norm divides the whole x_L by, held fixed; γ are its weights.")
    page.source(measures.contributions, measures.frozen_norm, measures.stream_parts, measures.promoted_by)
    page.experiment(experiments.parts, *choice.key[:2], TOKENS, choice.position, choice.token, choice.against)
    st.caption(
        "Direct logit attribution, as in arXiv:2211.00593, section 3.1. With LayerNorm each part also loses its mean; "
        "biases of the model, where it has any, are a part of their own."
    )
    page.question(
        "Why measure a logit relative to the mean of all logits?",
        "Because the softmax does not change when the same number is added to all logits. A part that raises every "
        "logit by 3 changes no probability, yet its share in the raw logit would be 3. Relative to the mean it is 0. "
        "Set the reference to “nothing” and see which shares change.",
    )


def adding_up(choice: Choice, found: Contributions) -> None:
    """The sum, part after part."""
    names, shares, roles = instalments(found)
    count = found.heads.size + int((found.feedforward != 0).sum()) + 1 + (found.position != 0) + (found.biases != 0)
    off = abs(found.total - found.logit)
    largest = names[int(np.argmax(shares))]
    height = 130 + 31 * len(names)
    st.markdown(
        f"Logit of **{_reading.shown(choice.piece)}** after {_reading.shown(choice.reading.tokens[choice.position])}, "
        f"{choice.versus}: **{found.logit:.4f}**. Sum of the {count} parts: **{found.total:.4f}** (off by {off:.0e})."
    )
    figure(
        figures.running_sum(names, shares, roles, height),
        key="sum",
        height=height,
        table=lambda: table(found),
        alt=f"The logit of '{choice.label}' adds up to {found.total:.2f}: "
        + ", ".join(f"{name} {share:+.2f}" for name, share in zip(names, shares, strict=True))
        + ".",
        caption=f"Shares in the order of computation; the largest is that of {largest}, {max(shares):+.2f}. All heads "
        f"of a layer in one bar. The scale of the final norm is held at its true value, {found.scale:.3f}.",
    )


def instalments(found: Contributions) -> tuple[list[str], list[float], list[str]]:
    """Names, shares and colour roles of the bars."""
    rows = [("embedding", found.embedding, "@embedding")]
    rows += [("positions", found.position, "@position")] if found.position else []
    for layer, heads in enumerate(found.heads):
        rows.append((f"attention {layer}", float(heads.sum()), "@attention"))
        if forward := float(found.feedforward[layer]):
            rows.append((f"feed-forward {layer}", forward, "@feedforward"))
    rows += [("biases", found.biases, "@norm")] if found.biases else []
    names, shares, roles = zip(*rows, strict=True)
    return list(names), list(shares), list(roles)


def table(found: Contributions) -> pd.DataFrame:
    """Every part with its share."""
    rows = [("embedding", found.embedding), ("positions", found.position), ("biases", found.biases)]
    for layer, heads in enumerate(found.heads):
        rows += [(f"head {layer}.{head}", share) for head, share in enumerate(heads.tolist())]
        rows.append((f"feed-forward {layer}", float(found.feedforward[layer])))
    return pd.DataFrame([*rows, ("logit of the model", found.logit)], columns=["part", "share"])


@fragments.fragment
def one_part(choice: Choice, found: Contributions) -> None:
    """The board of all heads and feed-forward layers, and what the chosen one promotes."""
    n_layers, n_heads = found.heads.shape
    has_forward = bool((found.feedforward != 0).any())
    parts = [f"head {head}" for head in range(n_heads)] + ([FORWARD] if has_forward else [])
    with st.container(horizontal=True, gap="medium"):
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(3, n_layers - 1))
        part = controls.select("Part", "part", parts, parts[0])
    column = parts.index(part)
    values = found.heads if not has_forward else np.column_stack([found.heads, found.feedforward])
    limit = max(1e-3, float(np.abs(values).max()))
    best = np.unravel_index(values.argmax(), values.shape)
    name = f"{parts[best[1]]} of layer {best[0]}"
    short = [str(head) for head in range(n_heads)] + (["FF"] if has_forward else [])

    def choose_part(event: Event) -> None:
        match event["customdata"]:
            case [int(at), int(which)] if 0 <= which < len(parts) and 0 <= at < n_layers:
                controls.set_values(layer=at, part=parts[which])

    height = 60 + 44 * n_layers
    figure(
        boards.board(
            values,
            short,
            "layer %{y}, part %{text}: %{z:.3f} logits",
            limit=limit,
            selected=[(layer, column)],
            height=height,
        ),
        key="board",
        height=height,
        min_width=360,
        on_click=choose_part,
        table=lambda: table(found),
        alt=f"Shares of {n_layers} × {len(parts)} parts; the largest is {name}, {values.max():+.2f} logits.",
        caption=f"One field per head{' or feed-forward layer (FF)' if has_forward else ''}: (layer, part) = "
        f"{values.shape}. Largest: {name}, {values.max():+.2f}. Click a field to see what it writes.",
    )
    head = None if part == FORWARD else column
    ids, pieces, lift = promoted(*choice.key, layer, head)
    following = None if choice.following is None else choice.following
    marked = text.label(_reading.piece(choice.reading.model, following), 12) if following in ids else None
    figure(
        promoted_figure(
            text.tick_labels(pieces),
            lift,
            marked,
            300,
            axis="share in each token's logit",
            up="@feedforward" if head is None else "@attention",
        ),
        key="writes",
        height=300,
        table=lambda: pd.DataFrame({"token": pieces, "share": lift}),
        alt=f"{part} of layer {layer} promotes "
        + ", ".join(f"{text.visible(token)} by {share:.2f}" for token, share in zip(pieces[:4], lift, strict=False))
        + ".",
        caption=f"What {part} of layer {layer} writes here, projected on the vocabulary: the logits it raises most "
        f"relative to the mean, and those it lowers most.{' ◂ follows in the text.' if marked else ''}",
    )
    page.experiment(experiments.promoted, *choice.key[:2], TOKENS, choice.position, layer, head, UP, DOWN)
