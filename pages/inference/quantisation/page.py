"""The page on quantisation: grids, errors, outliers, loss against bits, a GGUF block, the cache, and speed."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.inference.quantisation import choices
from pages.inference.quantisation.facts import FACTS
from pages.ui import cache, controls, head_links, notices, page, text
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from pages.ui.work import live
from tfcore.measures.quantisation.formats import Format, Scheme
from tfcore.measures.quantisation.matrices import KINDS, kinds_of
from tfcore.measures.quantisation.rounded_activations import INPUTS
from tfcore.measures.quantisation.rounded_cache import Axis, CacheScheme
from tfcore.views.inference import quantisation as views
from tfcore.views.inference.quantisation.measure import gguf_block, speed
from tfcore.views.inference.quantisation.measure.activations import BITS as ACTIVATION_BITS
from tfcore.views.inference.quantisation.measure.losses import PARTS, Part, types_of
from tfcore.views.sources import Reading

# ---- one row ----

KIND = "down"
LAYER = 3  # whose matrix has the largest outlier of minilm's rows


def one_row() -> None:
    """One row of a weight matrix on its grid."""
    with panel(None) as p:
        examples: dict[str, dict[str, Any]] = {
            "one scale per matrix": {"format": "int4", "per": "matrix"},
            "one scale per row": {"format": "int4", "per": "row"},
            "groups of 16": {"format": "int4", "per": "16"},
            "two bits": {"format": "int2", "per": "32"},
            "fp8": {"format": "float8", "per": "row"},
            "int8 per row": {"format": "int8", "per": "row"},
        }
        real = {"rounded before": {"model": "smollm2", "format": "int4", "per": "32", "minimum": True}}
        p.examples(examples if choices.first_model() == models.DEFAULT else examples | real)
        with p.controls:
            places = [st.container(width=width) for width in (150, 330, 130)]
            with page.more_settings():
                model_name = choices.choose_model()
                config = cache.model(model_name)[0].config
                layer = controls.place("Layer", "layer", config.n_layers, LAYER)
                rest = st.container()
        with places[2]:
            kinds = kinds_of(config)
            kind = controls.select("Matrix", "kind", list(kinds), KIND, {one: f"W_{one}" for one in kinds})
        rows, columns = views.shape_of(model_name, layer, kind)
        with places[0]:
            data_type = choices.choose_format()
        with places[1]:
            per = choices.choose_per("per", columns, "32")
        with rest:
            row, first = choose_row(model_name, layer, kind, rows, columns)
            minimum = choices.choose_minimum(data_type)
        with p.picture:
            scheme = Scheme(format=data_type, per=per, minimum=minimum)
            p.show(views.row(model_name, layer, kind, row, scheme, first))
        before = (
            "Its file is quantised already: in every block of 32 there are at most 16 different values, so int4 with a "
            "minimum and one scale per 32 weights changes almost nothing. "
            if model_name == "smollm2"
            else ""
        )
        p.what_to_see(
            f"{before}Each dot is a weight, each grey line a value that can be stored, and the vertical lines are the "
            "rounding errors. The largest weight of a group sets the scale for all of its neighbours: where one is far "
            "larger, the grid is coarse and small weights become 0. Take one scale per row or per matrix, and the "
            "outlier does that to everybody; take smaller groups, and it reaches fewer, for half a bit or one bit more "
            "per weight. The grid of fp8 is dense around 0 and coarse at its ends."
        )
        p.question(
            "int4 in groups of 32 takes 4.5 bits per weight and not 4. Where does the half bit come from, and what "
            "would groups of 16 with a minimum take?",
            "A scale in float16 for every 32 weights: 16 / 32 = 0.5. Groups of 16 with a minimum store two such "
            "numbers for 16 weights: 4 + 32 / 16 = 6 bits.",
        )


def choose_row(model_name: str, layer: int, kind: str, rows: int, columns: int) -> tuple[int, int]:
    """The row, at first one with an outlier, and the first of its columns in sight."""
    row, column = views.outlying(model_name, layer, kind)
    chosen = controls.place("Row", "row", rows, row)
    last = (columns - 1) // views.SHOWN
    window = controls.slider(f"Columns, {views.SHOWN} at a time", "window", 0, last, column // views.SHOWN)
    return chosen, window * views.SHOWN


# ---- by layer ----


def by_layer() -> None:
    """The error by layer and kind of matrix."""
    with panel(None) as p:
        p.examples(
            {
                "int4 per matrix": {"format": "int4", "share": "matrix"},
                "int4 per row": {"format": "int4", "share": "row"},
                "int4 in groups of 16": {"format": "int4", "share": "16"},
                "int8 per matrix": {"format": "int8", "share": "matrix"},
                "fp8": {"format": "float8", "share": "row"},
                "bf16": {"format": "bfloat16"},
            }
        )
        with p.controls:
            places = [st.container(width=width) for width in (150, 150, 330)]
            with places[0]:
                model_name = choices.choose_model()
            with places[1]:
                data_type = choices.choose_format()
            with places[2]:
                per = choices.choose_per("share", views.shared_width(model_name), "matrix")
            with page.more_settings():
                minimum = choices.choose_minimum(data_type)
                if not data_type.startswith("int"):
                    st.caption("Nothing more to set: only integers have a minimum.")
        with p.picture:
            shown = views.by_layer(model_name, Scheme(format=data_type, per=per, minimum=minimum))
            p.show(shown, on_click=open_row, hint="Click a cell to see a row of that matrix.")
        before = (
            "The matrices of smollm2 come from a file in Q4_1 (4 bits in blocks of 32, with a minimum), so their "
            "errors are those of rounding a second time. "
            if model_name == "smollm2"
            else ""
        )
        p.what_to_see(
            f"{before}With one scale per matrix, a few matrices stand out: those with the largest outliers, whose "
            "scale is set by one weight (in minilm W_down). With one scale per row the difference shrinks, with small "
            "groups it nearly goes: then the error is that of the number of bits. Each bit more halves the error of an "
            "integer type. For float types the error hardly depends on the scale, since their grid is relative."
        )
        p.question(
            "Two matrices have the same error of 10 %. Does the model suffer as much from either?",
            "No. The error here is measured on the weights; what counts is the error of the output, and that depends "
            "on which columns meet large activations. A column that is multiplied with an outlier channel carries its "
            "rounding error further. Methods like GPTQ (arXiv:2210.17323) and AWQ (arXiv:2306.00978) use the "
            "activations of some texts for that.",
        )


def open_row(event: Event) -> None:
    """A click on a cell opens the matrix in the section on one row."""
    layer, _, kind = str(event["customdata"]).partition(".")
    if layer.isdecimal():
        controls.set_values(look="row", layer=int(layer), kind=kind)


# ---- outliers ----


def outliers() -> None:
    """Channels of activations with outliers, and what they do to integers."""
    row = controls.text_row()
    with panel((3, 12)) as p:  # controls above would push the figures down
        p.examples(
            {
                "the last layer": {"layer": 29, "input": "down"},
                "without the first token": {"layer": 29, "input": "down", "first": False},
                "one channel of attention": {"layer": 12, "input": "qkv"},
                "four bits": {"abits": 4},
                "what W_out reads": {"layer": 20, "input": "out"},
            }
        )
        with p.controls:
            places = [st.container() for _ in range(3)]
            with page.more_settings():
                model_name = models.choose(
                    "decoder", "encoder", key="of", default=models.first(), why_not=choices.unfit
                )
                first = controls.toggle("Count the first token", "first", True)
        config = cache.model(model_name)[0].config
        with places[0]:
            kind = controls.segmented("Input of", "input", list(INPUTS), "down", {one: f"W_{one}" for one in INPUTS})
        with places[1]:
            layer = controls.place("Layer", "layer", config.n_layers, config.n_layers - 1)
        with places[2]:
            bits = controls.segmented("Bits", "abits", list(ACTIVATION_BITS), 8)
        pasted = text_box(
            model_name, "Text", "text", choices.TEXT, choices.CHARACTERS, height=68, named=False, row=row, end="first"
        )
        read = first_tokens(model_name, pasted, views.TOKENS)
        notices.tokens(read.total, len(read.ids), which="first")
        if not read.ids:
            say_nothing_read(model_name, pasted, "text", choices.NO_TEXT)
            return
        reading = Reading(model_name, pasted)
        with p.picture:
            left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.channels(reading, kind, layer, first))
        with right:
            p.show(views.activation_errors(reading, kind, bits, layer))
        choices.losses_beside(model_name, "activations", f"int{bits}")
        choices.losses_beside(model_name, "both", f"int{bits}")
        p.what_to_see(
            "With one scale for the whole text, the largest number anywhere sets the grid for every token. In smollm2 "
            "that is often one channel at the first token: take the first token out of the left picture, and see how "
            "far everything else lies below it. All other tokens are then rounded on its grid, and may lose much of "
            "what they say (right, solid orange). Either remedy helps: a scale for each token, or the outlier channels "
            "kept apart in full precision."
        )
        p.question(
            "Keeping a few channels in float16 costs little memory. Why is LLM.int8() not simply faster than float16?",
            "The product falls apart into two: one in int8 for most channels, one in float16 for the outliers, and the "
            "columns have to be found and gathered for every input. For small matrices this takes longer than the "
            "product saves; the paper says so of models below 6.7 B parameters (arXiv:2208.07339).",
        )


# ---- loss ----

PROMPT = "Once upon a time there was a little dog named Max. One day"
NEW_TOKENS = 24
TYPES: tuple[Format, ...] = ("int8", "int6", "int5", "int4", "int3", "int2")


def loss() -> None:
    """Held-out loss against bits, and what a model writes with fewer."""
    with panel(None) as p:
        p.examples(
            {
                "three bits": {"part": "weights", "type": "int3"},
                "a story in two bits": {"measured": "stories", "part": "weights", "type": "int2"},
                "outliers in int8": {"measured": "smollm2", "part": "activations", "type": "int8"},
                "activations in four bits": {"measured": "smollm2", "part": "activations", "type": "int4"},
                "both in int8": {"measured": "smollm2", "part": "both", "type": "int8"},
                "a cache of two bits": {"measured": "smollm2", "part": "cache", "type": "int2"},
            }
        )
        with p.controls:
            name = controls.segmented("Model", "measured", choices.MEASURED, choices.MEASURED[0])
            part = controls.segmented("Rounded", "part", list(PARTS), "weights", {**PARTS, "both": "both"})
            data_type = controls.segmented("Data type", "type", TYPES, "int4")
        with p.picture:
            types = types_of(views.table_of(name, part))
            if data_type not in types:
                st.caption(f"{PARTS[part].capitalize()} were measured in {', '.join(types)}; shown is int8.")
                data_type = "int8"
            p.show(views.losses(name, part, data_type))
            if part == "weights":
                continuations(data_type)
        p.what_to_see(what_a_loss_shows(name, part))
        p.question(
            "smollm2 needs more bits than stories, although it is many times larger. Why might that be?",
            "It has outliers: single weights and channels of activations that are many times larger than the rest (see "
            "“One row” and “Outliers”). The grid has to reach them, and the rest gets few of its values. It has "
            "also been rounded once before, and two roundings add up. Size alone does not decide.",
        )


def continuations(data_type: Format) -> None:
    """A table of what stories writes with each way to share a scale."""
    st.markdown(f"**What stories writes with its weights in {data_type}**, greedily, after “{PROMPT}”")
    shown = views.continuations(models.DEFAULT, PROMPT, data_type, NEW_TOKENS)
    lines = [f"| {name} | {text.escape(one)} |" for name, one in shown.texts.items()]
    st.markdown("\n".join(["| weights | text |", "|---|---|", *lines]))
    st.caption(str(shown.said))


def what_a_loss_shows(name: str, part: Part) -> str:
    """The words of “What to see” for a part of a model."""
    before = (
        "The weights of smollm2 lie on the grid of its file: int4 with a minimum per 32 weights, which is that grid, "
        "costs nothing, while int5 costs more than int4: its finer grid does not contain the old one. "
        if name == "smollm2"
        else ""
    )
    told: dict[Part, str] = {
        "weights": f"{before}Fewer bits cost little at first, then very much: one bit is the difference "
        "between a model and noise. Where the fall begins depends on what shares a scale: small groups move it to the "
        "left, and pay with half a bit or one bit for their scales.",
        "activations": "Here the weights are as they are. With one scale per text, a single large activation costs all "
        "others their bits; keeping the outlier channels apart, or a scale for each token, helps: in int8 it brings "
        "smollm2 back to within one percent of its loss; in int4 it is not enough.",
        "both": "Weights have one scale per row here, activations as the legend says: so the whole product can be one "
        "of integers (in eight bits: W8A8). The activations decide. In int8, with a scale for each token or with the "
        "outlier channels apart, smollm2 loses about one percent.",
        "cache": "Rounded are keys (after their rotation) and values, in groups of 32, with a minimum. In smollm2 some "
        "channels of the keys are large at every token: a scale by channel keeps them from setting the grid of all.",
    }
    return told[part]


# ---- GGUF ----


def gguf() -> None:
    """A block of a GGUF file, opened."""
    with panel(None) as p:
        p.examples(
            {
                "the first block": {"layer": 0, "kind": "down", "row": 0, "block": 0},
                "in the middle of W_q": {"layer": 15, "kind": "q", "row": 70, "block": 3},
                "the last layer": {"layer": 29, "kind": "down", "row": 12, "block": 20},
            }
        )
        there = gguf_block.file_of_smollm2() is not None and models.REAL in models.fitting()
        name = models.REAL if there else models.DEFAULT
        config = cache.model(name)[0].config
        with p.controls:
            with st.container(width=130):
                kind = controls.select("Matrix", "kind", list(KINDS), "down", {one: f"W_{one}" for one in KINDS})
            places = [st.container(width=260), st.container(width=260)]
            with page.more_settings():
                layer = controls.place("Layer", "layer", config.n_layers)
        rows, columns = views.shape_of(name, layer, kind)
        with places[0]:
            row = controls.place("Row", "row", rows)
        with places[1]:
            place = controls.place("Block in the row", "block", columns // gguf_block.BLOCK)
        with p.picture:
            if not there:
                st.caption(
                    "The file of smollm2 is not on this server; this block is made of weights of stories, as a file "
                    "has it."
                )
            shown = views.block(name, layer, kind, row, place, from_file=there)
            p.show(shown)
            st.caption(
                "The bytes in hexadecimal: scale | minimum | 16 bytes of two integers each (value i low, value i + 16 "
                "high)"
            )
            st.code(shown.result.hexadecimal, language=None, wrap_lines=True)
        exact = (
            "The model computes with exactly these, as the rings show."
            if there
            else "The rings are the weights as they were before, between the levels."
        )
        p.what_to_see(
            "A block in Q4_1 is 20 bytes for 32 weights: a scale and a minimum in float16, and 16 bytes with two "
            f"integers each. The weight is scale × integer + minimum. {exact} The largest and the "
            "smallest weight of a block are at the ends of its grid, 15 and 0. Each block has a grid of its own: move "
            "to the next one, and scale and minimum change. Rows of W_q and W_k lie in another order in the file, "
            "which the loader undoes."
        )
        p.question(
            "Q4_0 has no minimum: its blocks are 18 bytes. How many bits per weight do both take, and what does the "
            "minimum buy?",
            "18 × 8 / 32 = 4.5 bits against 20 × 8 / 32 = 5. With a minimum the 16 values lie between the smallest and "
            "the largest weight of the block; without it they lie around 0, and where a block is lopsided some are "
            "never used.",
        )


# ---- KV cache ----

CACHE_BITS = (8, 4, 3, 2)
AXES: dict[Axis, str] = {"channel": "by channel", "token": "by token"}


def cached() -> None:
    """The KV cache in fewer bits."""
    row = controls.text_row()
    with panel((4, 12)) as p:  # controls above would push the figures down
        p.examples(
            {
                "keys by channel": {"cbits": 2, "keys": "channel", "values": "token"},
                "keys by token": {"cbits": 2, "keys": "token", "values": "token"},
                "four bits": {"cbits": 4, "keys": "channel", "values": "token"},
                "eight bits": {"cbits": 8},
            }
        )
        with p.controls:
            bits = controls.segmented("Bits", "cbits", CACHE_BITS, 2)
            keys = controls.segmented("Keys", "keys", list(AXES), "channel", AXES)
            values = controls.segmented("Values", "values", list(AXES), "token", AXES)
            with page.more_settings():
                name = models.choose("decoder", key="of", default=models.first(), why_not=models.silent)
                config = cache.model(name)[0].config
                layer = controls.place("Layer", "layer", config.n_layers, 12)
                head = controls.place("Head", "head", config.attention.n_heads)
                drawn = controls.segmented("Left picture", "drawn", ["keys", "values"], "keys")
        pasted = text_box(
            name, "Text", "text", choices.TEXT, choices.CHARACTERS, height=68, named=False, row=row, end="first"
        )
        read = first_tokens(name, pasted, views.TOKENS)
        notices.tokens(read.total, len(read.ids), which="first")
        if not read.ids:
            say_nothing_read(name, pasted, "text", choices.NO_TEXT)
            return
        reading, scheme = Reading(name, pasted), CacheScheme(bits=bits, keys=keys, values=values)
        there = head_links.of_ids(name, read.ids, layer, head, pasted)
        with p.picture:
            left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.keys(reading, layer, head, scheme, drawn))
        with right:
            shown = views.maps(reading, layer, head, scheme)
            before = shown.result.before
            p.show(shown, on_click=head_links.on_cell(there, before), hint=head_links.CLICK)
            there.link_strongest(before, read.tokens, read.tokens)
        choices.losses_beside(name, "cache", f"int{bits}")
        p.what_to_see(
            "Vertical stripes in the left picture, where there are some, are channels that are large at every token. A "
            "scale by token has to reach them and leaves few values for the other channels; a scale by channel gives "
            "the stripes a grid of their own. In most heads of smollm2 values are more even. This is what KIVI builds "
            "on: keys by channel, values by token. “Loss” has the loss for every number of bits."
        )
        p.question(
            "int2 with groups of 32 takes 3 bits per value, not 2. How many times smaller than float16 is the cache?",
            "16 / 3 = 5.3 times. A scale and a minimum of 16 bits each for 32 values are one bit per value, as much as "
            "half of the integers.",
        )


# ---- timed here ----

SEEDS = 20
DATA_TYPES = 6


def timed() -> None:
    """A product in each data type, drawn as the times come in."""
    with panel() as p:
        with p.controls:
            seed = controls.slider("Seed of the matrix", "seed", 0, SEEDS, 0)
            beside = st.container()
        again = {"seed": controls.next_seed(seed, SEEDS)}
        p.examples({"measure again": again})
        key = ("data types", seed)

        live.watch_measurement(
            key,
            lambda: speed.race(seed),
            DATA_TYPES * len(speed.TOKENS),
            (beside, p.picture),
            lambda points: p.show(views.speeds(seed, so_far=points)),
            again,
        )
        p.what_to_see(
            "Fewer bits are less memory at once, and faster only where the processor has instructions for them. Here "
            "integers and fp8 are brought back to float32 before each product, which with one token takes longer than "
            "the product itself. Programs like llama.cpp unpack each block in registers, while the next one is on its "
            "way from memory; then one token is faster too, since reading the weights is what takes the time."
        )
        p.question(
            "With one token at a time, how much faster could int4 be than float16 at best, on a machine limited by "
            "memory?",
            "The time is that of reading the weights: 16 bits against 4.5 (groups of 32), so 3.6 times. With many "
            "tokens at once the arithmetic takes the time, and int4 gains nothing if it is unpacked to float16 first.",
        )


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "row": one_row,
    "errors": by_layer,
    "outliers": outliers,
    "loss": loss,
    "block": gguf,
    "cache": cached,
    "timed": timed,
}
FIRST = choices.first_model()

page.begin(FACTS, always={"model": FIRST} if FIRST != models.DEFAULT else {})
SECTIONS[controls.sections(FACTS.sections)]()
