"""The page on long context: what length costs, sparse patterns, flash attention, ring attention, and timings."""

from collections.abc import Callable

import streamlit as st

from pages.inference.long_context import choices, chosen, pieces
from pages.inference.long_context.facts import FACTS
from pages.ui import controls, fragments, page
from pages.ui.components.player import player
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.work import live
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.measures.quantities import prefixed
from tfcore.presets import PRESETS
from tfcore.views.inference import long_context as views
from tfcore.views.inference.long_context.measure import timing
from tfcore.views.inference.long_context.measure.cost import MODELS, POWERS
from tfcore.views.inference.long_context.measure.timing import TimingConfig
from tfcore.views.inference.long_context.say import cost as say
from tfcore.views.sources import Reading

# ---- cost of length ----


def cost() -> None:
    """One head to scale, and both costs as lines."""
    with panel() as p:
        p.examples(
            {
                "512 tokens": {"tokens": 9},
                "4,096 tokens": {"tokens": 12, "shape": "GPT-2 small"},
                "131,072 tokens": {"tokens": 17, "shape": "LLaMA-3 8B"},
                "a million tokens": {"tokens": 20, "shape": "LLaMA-3 8B"},
            }
        )
        with p.controls:
            power = controls.slider("Sequence length n: 2 to the power of", "tokens", POWERS[0], POWERS[-1], 12)
            name = controls.select("Model", "shape", list(MODELS), "GPT-2 small")
            costs, at, config = views.cost_of(name), power - POWERS[0], PRESETS[MODELS[name]]()
            memory = say.layer_memory(costs, at)
            st.metric("Scores per head", say.score_matrix(name, 2**power, config.head_size).scores, help="n × n")
            st.metric(
                "Scores of one layer, 2 bytes each",
                memory.score_bytes,
                memory.times,
                delta_color="off",
                delta_arrow="off",
            )
            st.metric("FLOPs that grow with n²", say.operations(name, costs, at).share)
        with p.picture:
            p.show(views.scale(name, power))
        first, second = st.columns(2, gap="medium")
        with first:
            p.show(views.operations(name, power))
        with second:
            p.show(views.memory(name, power))
        p.what_to_see(
            "At 4,096 tokens one head has 16,777,216 scores, and one layer of GPT-2 small 403 MB of them. Move n by "
            "one step: the picture keeps its size, and the strips beside the square are half as wide. Below, n² is the "
            f"steeper line: two powers up for one to the right. {say.crossings(config, costs)}"
        )
        p.question(
            "GPT-3's FLOPs cross over at a far longer sequence than GPT-2's. Why?",
            "Products with weights cost about 24 n d² a layer, scores and values 4 n² d: equal at n = 6 d, and GPT-3's "
            "d is sixteen times as large: 73,728. (The unembedding moves it further, in GPT-2 small by nearly half.) "
            "The wider a model, the longer its weights outweigh the square in time. In memory d counts for much less, "
            "as the other figure shows.",
        )


# ---- sparse patterns ----

MOST = 12  # layers


def patterns() -> None:
    """The picture of a pattern with its reach, cost against length, and the check on a real model."""
    st.markdown("**Sparse attention: fewer pairs.** What one layer masks can still arrive through several layers.")
    with panel() as p:
        p.examples(
            {
                "one layer of a window": {"kind": "window", "window": 6, "layers": 1},
                "ten layers of it": {"kind": "window", "window": 6, "layers": 10},
                "one global token": {"kind": "window_global", "window": 4, "n_global": 1, "layers": 2},
                "dilation: gaps remain": {"kind": "dilated", "window": 4, "dilation": 4, "layers": 6},
                "block-sparse: quadratic": {"kind": "blocks", "block": 8, "stride": 2, "layers": 2},
            }
        )
        with p.controls:
            box, more = st.container(), page.more_settings()
        with box:
            mask = choices.choose_mask(more)
            layers = controls.slider("Layers", "layers", 1, MOST, 4)
            player("layers", 1, MOST, layers, label="Layer after layer", period=0.6)
        with more:
            power = controls.slider("Length: 2 to the power of", "power", 6, 17, 15)
        with p.picture:
            picture, lines = st.columns(2, gap="medium")
        with picture:
            p.show(views.pattern(mask, layers))
        with lines:
            p.show(views.pairs(mask, power))
        p.what_to_see(
            "A window keeps about n · w pairs: a line of slope 1 beside the slope 2 of full attention. Block-sparse "
            "attention with a fixed stride saves a constant factor, so its line stays parallel to the full one (the "
            "paper lets the stride grow with √n). What a layer masks can arrive through later ones: play the layers, "
            "and the receptive field of a window grows by w − 1 in each. Dilated attention reaches further, but only "
            "tokens at a multiple of the dilation, at any depth; Longformer uses different dilations in different "
            "heads. A global token at the start is attended to by all, but in a causal model it attends to none of "
            "them, so it carries nothing forward from the middle."
        )
        p.question(
            "Mistral 7B has a window of 4,096 and 32 layers. From how far back can information reach a token?",
            "From up to 32 · 4,095 = 131,040 tokens; the paper says about 131 K. It bounds what can arrive, not what "
            "does: each layer averages over up to 4,096 values.",
        )
        check(p, mask)


@fragments.fragment
def check(p: Panel, mask: MaskConfig) -> None:
    """A token changed in a real model under this mask: where do the outputs change?"""
    st.subheader("And in a real model?", anchor=False)
    models.only(choices.MODEL, "the check is on the mask, which lets the same tokens through in any decoder.")
    pasted = controls.text_area("Text", "text", choices.TEXT, choices.CHARACTERS, height=80)
    reading = Reading(choices.MODEL, pasted)
    n = len(choices.read(reading).ids)
    if n < 2:
        st.info("The check needs a text of at least two tokens.")
        return
    position = controls.slider("Token to change", "position", 1, n - 1, min(5, n - 1))
    p.show(views.measured(reading, mask, position))


# ---- memory traffic ----


def traffic() -> None:
    """Bars of what is moved, and the same against the size of SRAM."""
    with panel() as p:
        p.examples(
            {
                "an A100": {"length": 12, "width": 64, "kilobytes": 192, "loop": "keys", "causal": False},
                "little SRAM": {"width": 64, "kilobytes": 16, "loop": "keys"},
                "wide heads": {"width": 256, "kilobytes": 96, "loop": "keys"},
                "queries outside, causal": {"width": 128, "kilobytes": 192, "loop": "queries", "causal": True},
            }
        )
        with p.controls:
            n = 2 ** controls.slider("Sequence length n: 2 to the power of", "length", 9, 17, 12)
            kilobytes = controls.slider(
                "SRAM, kB",
                "kilobytes",
                views.SIZES[0],
                views.SIZES[-1],
                192,
                views.SIZES[1] - views.SIZES[0],
                help="192 kB for each multiprocessor of an A100, 256 of an H100.",
            )
            order = controls.segmented(
                "Outer loop over", "loop", list(choices.ORDERS), "keys", choices.ORDERS, help=choices.WHICH
            )
            with page.more_settings():
                d_head = controls.select("Width of a head, d", "width", [32, 64, 128, 256], 64)
                causal = controls.toggle("Causal: skip masked tiles", "causal")
        with p.picture:
            p.show(views.traffic(n, d_head, kilobytes, order, causal))
            p.show(views.traffic_by_sram(n, d_head, kilobytes, order, causal))
        st.markdown(
            "**Memory traffic.** Arithmetic is fast, access to the large memory (HBM) is slow. Counted here: each "
            "value read from it or written to it, for one head, with M values of fast memory (SRAM)."
        )
        p.what_to_see(
            "Plain and tiled traffic grow with n², but tiles move about n²d²/M values instead of 4 n²: with d = 64 and "
            "192 kB the bars of scores and weights vanish and little comes in their place. The marks are the loads and "
            "stores of the loops added up, the dashed line is the theorem's term with its constant (12 with keys "
            "outside, 8 with queries outside). Try a small SRAM with wide heads: where M < 3 d² (2 d² with queries "
            "outside), tiles move more than standard attention. The number of operations is the same; only the memory "
            "traffic changes."
        )
        p.question(
            "Tiles read the same queries, or the same keys, many times; standard attention reads them once. Why do "
            "tiles still move less?",
            "Their scores never leave SRAM: they are made there, used for the softmax's state and for the values, and "
            "dropped. Standard attention writes them, reads them for the softmax, writes the weights and reads those: "
            "4 n² numbers. A pass over the queries moves only n d, and there are few passes if a tile is large.",
        )


# ---- timed here ----


def timed() -> None:
    """Both races, drawn as they run."""
    st.markdown("**On this machine, now.** The same attention, plain and fused, on random vectors of growing length.")
    with panel() as p:
        p.examples(
            {
                "one head": {"heads": 1},
                "eight heads": {"heads": 8},
                "no mask": {"causal_timed": False},
                "wide heads": {"head_size": 128},
            }
        )
        with p.controls:
            heads = controls.slider("Heads", "heads", 1, 8, 2)
            d_head = controls.select("Width of a head, d", "head_size", [32, 64, 128], 64)
            causal = controls.toggle("Causal", "causal_timed", True)
            with page.more_settings():
                seed = controls.slider("Seed of the vectors", "seed", 0, 20, 0)
            beside = st.container()
        config = TimingConfig(heads=heads, d_head=d_head, causal=causal, seed=seed)

        def show(points: list[timing.Timed]) -> None:
            first, second = st.columns(2, gap="medium")
            with first:
                p.show(views.seconds(config, so_far=points))
            with second:
                p.show(views.at_once(config, so_far=points))

        total, again = 2 * len(timing.LENGTHS), {"seed": controls.next_seed(seed)}
        live.watch_measurement(config, lambda: timing.race(config), total, (beside, p.picture), show, again)
        st.caption(
            f"Measured on {timing.where()}; the quickest of up to {timing.REPEATS} runs each. The link brings back the "
            "settings, the times are those of the machine. Bytes: scores and weights, or the output (computed); the "
            "most that torch had allocated at once (measured). FlashAttention: arXiv:2205.14135."
        )
        p.what_to_see(
            "The captions compare both at the longest length that both were measured on. Plain attention makes several "
            "matrices of n × n, writes them and reads them again, and under a causal mask it computes the half that is "
            "then masked. Where these matrices dominate, its time grows fourfold for each doubling. In bytes the "
            "slopes differ: n² for plain, n for fused attention. Where the plain matrices would take more than "
            f"{prefixed(timing.LARGEST)} they are left out (open marks)."
        )
        p.question(
            "Without a mask, fused attention does not skip a single multiplication. Where does its speed come from?",
            "From memory. Standard attention writes scores, reads them for the softmax, writes weights and reads them "
            "again; with long sequences none of that fits into a cache. The fused kernel keeps a tile where the "
            "arithmetic happens. Under a causal mask it also skips the tiles that lie in the future, which standard "
            "attention computes and hides.",
        )


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "cost": cost,
    "patterns": patterns,
    "chosen": chosen.blocks,
    "flash": pieces.flash,
    "traffic": traffic,
    "ring": pieces.ring,
    "timed": timed,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
