"""The page on normalisation: by hand, over which axis, where it stands, and what that does to training."""

from collections.abc import Callable

import streamlit as st

from pages.block.normalisation.facts import FACTS
from pages.block.normalisation.numbers import CHARACTERS, NUMBERS, read_numbers
from pages.block.probing import measure_all
from pages.ui import controls, fragments, notices, page, text
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from pages.ui.work import jobs, live
from tfcore.config import Init
from tfcore.measures import deep_networks
from tfcore.measures.deep_networks import INIT_NAMES, networks
from tfcore.part_configs import Norm
from tfcore.views.block import normalisation as views
from tfcore.views.block.normalisation import TOKENS, say
from tfcore.views.block.normalisation.measure import early_training
from tfcore.views.block.normalisation.measure.depths import probe_of
from tfcore.views.block.normalisation.measure.norms import NORM_NAMES

# ---- by hand ----


def by_hand() -> None:
    """LayerNorm and RMSNorm on a few numbers."""
    with panel() as p:
        p.examples(
            {
                "add 100 to all": {"numbers": "102, 104, 104, 105, 107, 108"},
                "ten times": {"numbers": "20, 40, 40, 50, 70, 80"},
                "one outlier": {"numbers": "2, 4, 4, 5, 7, 80"},
                "all equal": {"numbers": "3, 3, 3, 3"},
                "initial γ and β": {"scale": 1.0, "shift": 0.0},
            }
        )
        with p.controls:
            pasted = controls.text_area("The features of one token", "numbers", NUMBERS, CHARACTERS, height=68)
            scale = controls.slider("Scale γ", "scale", -3.0, 3.0, 1.5, 0.1)
            shift = controls.slider("Shift β", "shift", -3.0, 3.0, 0.5, 0.1)
            power = controls.slider("ε: 10 to the power of", "eps10", -12, 1, -5)
        try:
            numbers = read_numbers(pasted)
        except ValueError as problem:
            p.picture.info(str(problem))
            fragments.stop()
        shown = views.by_hand(numbers, scale, shift, 10.0**power)
        with p.picture:
            p.show(shown)
            st.caption(str(say.against_torch(*shown.result)))
        every = shown.numbers()
        digits = {column: st.column_config.NumberColumn(format="%.6f") for column in every}
        st.dataframe(every, hide_index=True, height=min(38 + 35 * len(numbers), 290), column_config=digits)
        p.what_to_see(
            "Multiply all numbers by ten, or add a hundred to each: LayerNorm gives the same result but for ε, since "
            "it subtracts the mean and divides by the standard deviation. RMSNorm only divides: the same for ten times "
            "the numbers, but not with a hundred added: numbers small beside that come out nearly alike. It needs no "
            "mean and has one parameter per feature, LayerNorm two. One outlier takes nearly all the size: before "
            "scale and shift, RMSNorm leaves the others near 0, LayerNorm near each other. If all are equal, only ε "
            "keeps LayerNorm from 0 / 0."
        )
        p.question(
            "With ε = 0 and no scale or shift, what is the size (root mean square) of every vector after LayerNorm?",
            "Exactly 1, unless all its numbers are equal: the mean square of what is left after taking the mean away "
            "is the variance, and that is divided away. Its length is then √d, for every token, whatever its size was "
            "before. Move ε up and the size falls below 1.",
        )


# ---- over which axis ----

MODEL = "stories"
TEXTS = "The dog ran to the park\nShe saw a red ball there"
ROWS = 3  # texts of a batch


def which_axis() -> None:
    """The right axis and three wrong ones."""
    st.markdown(
        "A batch has three axes, (sequence, token, feature). **LayerNorm and RMSNorm normalise over the features of "
        "one token.** Over another axis the code runs without an error, but tokens or sequences affect each other."
    )
    with panel() as p:
        p.examples(
            {
                "the last token": {"texts": TEXTS, "row": 0, "position": TOKENS - 1},
                "the other text": {"texts": TEXTS, "row": 1, "position": 0},
                "one text alone": {"texts": TEXTS.splitlines()[0], "row": 0, "position": 2},
                "RMSNorm": {"kind": "rmsnorm"},
            }
        )
        with p.controls:
            box = controls.text_row()
            kind = controls.segmented("Norm", "kind", list(NORM_NAMES), "layernorm", NORM_NAMES)
            model_name = models.choose(default=MODEL, reads="the stream")
            pasted = text_box(
                model_name,
                "Sequences of one batch, one per line",
                "texts",
                TEXTS,
                CHARACTERS,
                height=100,
                kind="lines",
                row=box,
                end="first",
            )
            lines = tuple(line.strip() for line in pasted.splitlines() if line.strip())[:ROWS]
            rows = views.batch_of(model_name, lines, TOKENS)
            if not rows:
                with p.picture:
                    say_nothing_read(model_name, pasted, "texts", "There is no text yet: type one to three lines.")
                fragments.stop()
            longest = max(first_tokens(model_name, line, TOKENS).total for line in lines)
            notices.tokens(longest, len(rows[0]), "longest sequence", "first")
            row = controls.place("Text of the token to replace", "row", len(rows))
            position = controls.place("Its position", "position", len(rows[row]), 3)
        shown = views.which_axis(model_name, lines, row, position, kind)
        replaced = shown.result
        with p.picture:
            old, new = (text.escape(text.visible(piece)) for piece in (replaced.tokens[row][position], replaced.new))
            st.markdown(
                f"In text {row}, token {position}, **{old}**, becomes **{new}**. How much does each token's normalised "
                "vector change?"
            )
            p.show(shown)
        p.what_to_see(
            "Over the features, exactly one vector changes: zero everywhere else, to the last bit. Over the tokens, "
            "replacing the last one changes the first: **later tokens leak past the causal mask**. Over the texts, one "
            "sequence of the batch changes another's result. "
            f"{say.axis_changes(replaced.leak, row, position).sizes}"
        )
        p.question(
            "BatchNorm averages over the texts of a batch and works well for images. Why not here?",
            "Its averages depend on the other sequences of the batch and on their lengths; in generation, token by "
            "token and for one user, there is no such batch. Give only one text: over the texts, each feature has just "
            "one number, and LayerNorm there gives 0 for all of them.",
        )


# ---- where it stands ----


def where_it_stands() -> None:
    """Gradients and activations by layer, for each placement."""
    with panel() as p:
        p.examples(
            {
                "the paper's six layers": {"layers": 6, "init": "xavier"},
                "64 layers": {"layers": 64, "init": "xavier"},
                "GPT-2's weights": {"layers": 24, "init": "gpt2"},
                "small weights": {"layers": 24, "init": "normal"},
                "RMSNorm": {"norm": "rmsnorm"},
            }
        )
        with p.controls:
            n_layers = controls.slider("Layers", "layers", 1, deep_networks.DEEPEST, 24)
            init = controls.select("Initial weights", "init", list(INIT_NAMES), "xavier", INIT_NAMES)
            norm = controls.segmented("Norm", "norm", list(NORM_NAMES), "layernorm", NORM_NAMES)
            measure_all(probe_of, list(deep_networks.placements(n_layers, init, norm).values()))
            shown = views.gradients(n_layers, init, norm)
            last = say.last_gradients(shown.result)
            st.metric("Last layer, post-LN", last.post_norm, help="by theory the same at every depth")
            st.metric(
                "Last layer, pre-LN, · √layers", last.scaled_pre_norm, help="by theory of the same order at every depth"
            )
        with p.picture:
            p.show(shown)
            p.show(views.sizes(n_layers, init, norm))
        p.what_to_see(
            f"{by_depth(norm, init)} The paper's theorem explains with it why post-LN needs warm-up. With pre-LN "
            "each sublayer adds to the residual stream, which grows with depth, hardly with GPT-2's initial weights; "
            "post-LN normalises it each time. Without any norm all depends on the initial weights: with Xavier's the "
            "stream of a deep network grows by orders of magnitude."
        )
        p.question(
            "Pre-LN puts one more norm after the last block, post-LN does not. Why?",
            "With post-LN, each block ends with a norm, so the stream leaves at size 1. With pre-LN, nothing ever "
            "normalises the stream itself; see how large it is after the last layer. The final norm brings it to the "
            "size that the unembedding can work with. Without it, the logits would grow with depth.",
        )


def by_depth(norm: Norm, init: Init) -> say.GradientFall:
    """How the last layer's gradient changes from the shallowest network to the deepest, post-LN and pre-LN."""
    pairs = {}
    for name in ("post-LN", "pre-LN"):
        shallow, deep = measure_all(probe_of, networks(name, [1, deep_networks.DEEPEST], init, norm))
        pairs[name] = (shallow, deep)
    return say.gradient_fall(pairs, norm, init)


# ---- first steps ----

RATES = [0.001, 0.003, 0.006, 0.01]
DEEPEST_TRAINED = 32


def first_steps() -> None:
    """The first training steps, live."""
    with panel() as p:
        with p.controls:
            n_layers = controls.slider(
                "Layers", "deep", 2, DEEPEST_TRAINED, 8, 2, help=f"{DEEPEST_TRAINED} at most: all four are trained now."
            )
            peak = controls.select("Learning rate", "rate", RATES, 0.006, {r: f"{r:g}" for r in RATES})
            warm = controls.slider("Warm-up: steps to reach it", "warmup", 5, early_training.RUN_STEPS, 40, 5)
            with page.more_settings():
                seed = controls.slider("Seed of weights and data", "seed", 0, 9, 0)
            beside = st.container()
        key = ("first steps", n_layers, peak, warm, seed)
        job = live.begin(key, lambda: early_training.first_steps(n_layers, peak, warm, seed))

        def draw(job: jobs.Job) -> None:
            with beside:
                live.bar(key, job, len(job.items), early_training.RUN_STEPS, {"seed": controls.next_seed(seed, 9)})
            with p.picture:
                p.show(views.first_steps(n_layers, peak, warm, seed, so_far=list(job.items)))

        live.watch(key, draw, job)
        p.examples(
            {
                "shallow": {"deep": 2, "rate": 0.006},
                "deeper": {"deep": 16, "rate": 0.006},
                "a smaller learning rate": {"deep": 8, "rate": 0.001},
                "another seed": {"seed": controls.next_seed(seed, 9)},
                "a short warm-up": {"deep": 8, "rate": 0.006, "warmup": 10},
            }
        )
        st.caption(
            "arXiv:2002.04745, section 3. Adam as in arXiv:1706.03762, without its inverse-root decay. Task: repeat "
            f"the previous token, {early_training.RUN_VOCAB} tokens, {early_training.RUN_ROWS} sequences of "
            f"{early_training.RUN_SEQ} per step, width {deep_networks.D_MODEL}."
        )
        p.what_to_see(
            "Compare for each placement the curve with warm-up and the one without: the caption has their losses, and "
            "says which networks have begun to learn. Move the layers, the learning rate and the warm-up: what post-LN "
            "needs depends on all three. Each curve is one run with one seed; try another."
        )
        p.question(
            "GPT-2, LLaMA and nearly all large models since are pre-LN. What did that change about training?",
            "Its first steps should depend less on depth (arXiv:2002.04745): compare pre-LN at 2 and at 16 layers with "
            "post-LN at the same learning rate. Large models are still trained with warm-up, because Adam's averages "
            "are poor at first (arXiv:1908.03265).",
        )


SECTIONS: dict[str, Callable[[], None]] = {
    "By hand": by_hand,
    "Which axis": which_axis,
    "Where it stands": where_it_stands,
    "First steps": first_steps,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
