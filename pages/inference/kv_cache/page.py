"""The page on the KV cache: what it saves, how large it gets, whether it fits, and how its memory is allocated."""

from collections.abc import Callable, Iterator

import streamlit as st

from pages.inference.kv_cache import choices
from pages.inference.kv_cache.facts import FACTS
from pages.ui import cache, controls, notices, page, text
from pages.ui.frame import panel
from pages.ui.loading import model_settings, models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from pages.ui.work import jobs, large_models, live
from tfcore.measures import kv_bytes
from tfcore.measures.quantities import amount
from tfcore.views.inference import kv_cache as views
from tfcore.views.inference.kv_cache.measure import generation, serving
from tfcore.views.inference.kv_cache.measure.generation import BothWays, BothWaysConfig, Exactness
from tfcore.views.inference.kv_cache.measure.paging import Traffic
from tfcore.views.inference.kv_cache.measure.serving import Model, Service
from tfcore.views.inference.kv_cache.say.paging import fragmentation

CHARACTERS = 1_000  # of a prompt
COPY = 4  # a copy may take one part in so many of what loaded models may (TFCORE_MODEL_GB)
EXACT: dict[Exactness, str] = {"float32": "float32", "float64": "float64"}
BLOCK = 16
GPUS = [1, 2, 4, 8, 16]
GIB = 2**30
BLOCKS = [1, 4, 16, 64, 256]
COLOUR_BY = {"state": "state", "request": "request"}


# ---- with and without ----


def with_and_without() -> None:
    """A prompt, a job that writes on both ways, pictures that grow with it."""
    with panel() as p:
        with p.controls:
            row = controls.text_row()
            model_name = models.choose("decoder", why_not=models.silent, reads="the stream")
            pasted = text_box(model_name, "Prompt", "text", choices.TEXT, CHARACTERS, height=80, kind="prompt", row=row)
            offer_real(model_name, pasted)
            wanted = controls.slider("Max new tokens", "steps", views.LEAST, choices.MOST, choices.STEPS, 8)
            exactness = controls.segmented("Data type", "exact", list(EXACT), "float32", EXACT)
            with page.more_settings():
                seed = controls.slider("Seed of the draws", "seed", 0, 20, 0)
            beside = st.container()
        p.examples(
            {
                "232 new tokens": {"steps": 232, "exact": "float32"},
                "float64: only rounding?": {"steps": 64, "exact": "float64"},
                "a long prompt": {"text": " ".join([choices.TEXT] * 8), "steps": 96},
                "a model of two layers": {"model": "induction", "text": "abcdefgh abcdefgh abc", "steps": 128},
                "another seed": {"seed": controls.next_seed(seed)},
            }
        )
        model, tokenizer = cache.model(model_name)
        ids, _, total = last_tokens(model_name, pasted, model.config.max_seq_len - views.LEAST)
        notices.tokens(total, len(ids))
        if not ids:
            with p.picture:
                say_nothing_read(
                    model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
                )
            return
        steps = min(wanted, model.config.max_seq_len - len(ids))
        exactness = spared(model_name, exactness)
        key = BothWaysConfig(model=model_name, text=pasted, steps=steps, exactness=exactness, seed=seed)

        def write() -> Iterator[BothWays]:
            return generation.both_ways(model, ids, steps, seed, exactness)

        def draw(job: jobs.Job) -> None:
            done: list[BothWays] = list(job.items)
            with beside:
                again = {"seed": controls.next_seed(seed)}
                live.bar(key, job, len(done), steps, again, work="run", step="token")
                if job.state == "stored":
                    st.caption("With the times of two cores of another machine.")
            with p.picture:
                p.show(views.with_and_without(model_name, pasted, steps, exactness, seed, so_far=done))
                st.caption("Generated:")
                st.code(tokenizer.decode([*ids, *(step.token for step in done)]), language=None, wrap_lines=True)

        work = write if exactness == "float32" else large_models.with_a_copy(write)
        live.watch(key, draw, live.begin(key, work, stored=views.stored_runs().get(key, ())))
        if model.config.attention.kv_latent is not None:
            with p.picture:
                latent = choices.described(model_name, model_name)
                p.show(views.latents(latent, len(ids) + steps, exactness))
        p.what_to_see(
            "Without the cache every step computes the whole sequence again, so its work grows with each token, and "
            "the total with the square of the length or faster. With it, a step computes one token and only attention "
            "grows; the price is the cache, which grows by the same amount with every token. Measured times follow the "
            "operations less closely: a step of one token mostly waits for weights and for the calls themselves, "
            "however few operations it has. The logits differ by rounding alone, because the same sums run in another "
            "order: float64 has 29 more bits, and its difference is about 2²⁹, half a billion, times smaller."
        )
        p.question(
            "Add up the operations of all steps with the cache. Which single pass costs the same?",
            "The last one without it: a pass over the whole sequence. Each step with the cache computes just what its "
            "token adds to that pass, so all steps together, prefill included, cost one pass over the whole sequence, "
            "where without the cache every step costs a pass.",
        )


def spared(model_name: str, exactness: Exactness) -> Exactness:
    """The data type that this server has memory for; a notice says so where it is not the one that was asked for."""
    copied = 8 * sum(one.numel() for one in cache.model(model_name)[0].parameters())
    if exactness == "float32" or copied <= model_settings.read().kept // COPY:
        return exactness
    said = f"In float64 {text.escape(model_name, text.NAME)} takes {amount(copied)} more"
    notices.add("exact", f"{said}, which this server does not spare. Shown instead: float32", value=exactness)
    return "float32"


# ---- cache size ----


def cache_size() -> None:
    """One model shared in every way, and all models side by side."""
    with panel() as p:
        p.examples(
            {
                "64 KV heads: 85.9 GB": {
                    "of": choices.OWN,
                    "layers": 80,
                    "heads": 64,
                    "kv_heads": 64,
                    "d_head": 128,
                    "tokens": 32_768,
                    "precision": "float16",
                    "batch": 1,
                },
                "8 KV heads: 10.7 GB": {"of": "llama3_70b", "tokens": 32_768, "precision": "float16", "batch": 1},
                "latent attention": {"of": choices.LATENT, "tokens": 131_072},
                "a sliding window": {"of": "mistral_7b", "tokens": 131_072},
                "int4": {"precision": "int4"},
                "in GiB": {"unit": "binary"},
            }
        )
        with p.controls:
            given, more = st.container(), page.more_settings()
        with given:
            chosen = choices.choose_model(more)
            tokens = choices.choose_tokens()
            batch = controls.slider("Batch size (sequences)", "batch", 1, 256, 1)
            with more:
                precision = choices.choose_precision("Data type", "precision")
                unit = choices.choose_unit()
        known = list(choices.all_known().values())
        every = known if chosen in known else [*known, chosen]
        with p.picture:
            p.show(views.sizes(chosen, tokens, batch, precision, unit))
            if chosen.shape.latent:
                p.show(views.latents(chosen, tokens, precision))
            st.markdown("**The same sequences in every model**")
            p.show(views.every_model(every, chosen, tokens, batch, precision, unit))
        p.what_to_see(
            "The number of query heads is not in the formula: only KV heads are cached, so with one KV head for eight "
            "query heads the cache is an eighth. LLaMA 2 7B (MHA) caches more per token than LLaMA 3 70B (GQA), which "
            "has ten times its parameters. Latent attention caches one vector for all heads together: with the 128 "
            "heads of DeepSeek-V2, below 2 % of MHA. A sliding window bounds the cache. 85.9 GB and 80.0 GiB are the "
            "same bytes: a GB is 10⁹, a GiB 2³⁰."
        )
        p.question(
            "A model has 80 layers and 64 heads of 128, fp16. How many tokens fit into 10 GiB? And with 8 KV heads?",
            "A token takes 2 x 80 x 64 x 128 x 2 bytes = 2.5 MiB, so 10 GiB hold 4,096 tokens. With 8 KV heads it "
            "takes an eighth, and 32,768 tokens fit.",
        )


# ---- does it fit ----


def does_it_fit() -> None:
    """A service, the verdict, and the remedies."""
    with panel() as p:
        p.examples(
            {
                "if it had 64 KV heads": {
                    "of": "llama3_70b",
                    "sharing": "mha",
                    "users": 16,
                    "tokens": 32_768,
                    "gpus": 8,
                    "parallel": 4,
                    "memory": 80,
                    "blocks": False,
                },
                "as it is, 64 users": {"of": "llama3_70b", "sharing": "built", "users": 64, "tokens": 32_768},
                "weights too large": {
                    "of": "llama3_70b",
                    "sharing": "built",
                    "gpus": 2,
                    "parallel": 1,
                    "users": 1,
                    "tokens": 8_192,
                },
                "7 B on one 24 GB GPU": {
                    "of": "llama2_7b",
                    "sharing": "built",
                    "gpus": 1,
                    "memory": 24,
                    "users": 8,
                    "tokens": 4_096,
                },
                "GPUs > KV heads": {"of": "llama3_70b", "sharing": "built", "gpus": 16, "parallel": 16, "users": 128},
                "latent attention": {
                    "of": choices.LATENT,
                    "sharing": "built",
                    "gpus": 8,
                    "parallel": 8,
                    "users": 64,
                    "tokens": 131_072,
                },
            }
        )
        with p.controls:
            given, more = st.container(), page.more_settings()
        with given:
            chosen = choices.choose_model(more)
            users = controls.slider("Concurrent sequences (users)", "users", 1, 512, 16)
            tokens = choices.choose_tokens()
            with more:
                gpus = controls.select("GPUs", "gpus", GPUS, 8)
                each = controls.slider("Memory of one GPU (GiB)", "memory", 8, 288, 80, help=views.SOLD)
                service = choose_service(chosen, users, tokens, gpus, each * GIB)
                unit = choices.choose_unit()
        shown = views.fits(chosen, service, BLOCK, unit)
        with p.picture:
            p.show(shown)
        st.dataframe(shown.numbers(), hide_index=True)
        p.what_to_see(
            "Each bar changes one thing and keeps the rest. Fewer KV heads and smaller data types shrink the cache of "
            "every sequence; fewer KV heads also shrink W_K and W_V. A paged cache takes memory for tokens that are "
            "there, not for the maximum length. Tensor parallelism splits one copy of the weights over more GPUs and "
            "so frees the memory of the other copies; the caches in all stay as large. Split over more GPUs than there "
            "are KV heads, several GPUs keep the same head; the latent vector is kept by all."
        )
        p.question(
            "Doubling the users or doubling the length of their sequences: which of the two needs more memory?",
            "Neither: the cache is a product, so both double it. They differ where there is a sliding window: beyond "
            "it, a longer sequence costs a model such as Mistral 7B nothing more, and another user always does.",
        )


def choose_service(chosen: Model, users: int, tokens: int, gpus: int, memory: int) -> Service:
    """How it is served before any remedy."""
    sharing = controls.select("KV heads", "sharing", list(choices.WAYS), "mha", choices.WAYS)
    parallel = controls.select(
        "Tensor parallelism",
        "parallel",
        kv_bytes.even_parts(gpus),
        min(4, gpus),
        help="GPUs that share one copy of the weights",
    )
    weights = choices.choose_precision("Data type of weights", "weights")
    kept = choices.choose_precision("Data type of the cache", "precision")
    filled = controls.slider("Mean length (% of max)", "filled", 5, 100, 50, 5)
    in_blocks = controls.toggle("Paged cache", "blocks", help=f"memory in blocks of {BLOCK} tokens")
    shape = kv_bytes.shared(chosen.shape, sharing)
    return Service(
        parameters=serving.regrouped(chosen.parameters, chosen.shape, shape, chosen.kv_head),
        kv_head=chosen.kv_head,
        weights=weights,
        shape=shape,
        cache=kept,
        users=users,
        tokens=tokens,
        filled=filled / 100,
        block=BLOCK if in_blocks else 0,
        gpus=gpus,
        parallel=parallel,
        memory=memory,
        spared=0.05,
    )


# ---- paged cache ----


def paged_cache() -> None:
    """The memory over time under three policies, and how well each used it."""
    with panel() as p:
        with p.controls:
            block = controls.select("Block size (tokens)", "block", BLOCKS, 16)
            slots = controls.slider("Memory (tokens)", "slots", 1_024, 4_096, 2_048, 256, format="localized")
            every = controls.slider("Steps between requests", "every", 1.0, 12.0, 3.0, 0.5, format="%.1f")
            with page.more_settings():
                colour = controls.segmented("Colour by", "colour", list(COLOUR_BY), "state", COLOUR_BY)
                traffic = choose_traffic(every)
        shown = views.paging(traffic, slots, block)
        with p.picture:
            p.show(views.memory(traffic, slots, block, colour == "request"))
            shares, crowd = st.columns(2, gap="medium")
            with shares:
                p.show(shown)
            with crowd:
                p.show(views.crowd(traffic, slots, block))
        st.dataframe(shown.numbers(), hide_index=True)
        p.examples(
            {
                "the defaults": {"block": 16, "slots": 2_048, "output": 64, "prompt": 32, "longest": 256, "every": 3.0},
                "blocks of 256 tokens": {"block": 256},
                "blocks of one token": {"block": 1},
                "a burst of requests": {"every": 1.0},
                "colour by request": {"colour": "request"},
                "another trace": {"trace": controls.next_seed(traffic.seed)},
            }
        )
        p.what_to_see(
            "The length of an output is not known in advance. A contiguous cache therefore reserves the maximum length "
            "for each request. Even an oracle that knew every length would reserve memory for tokens to come, and as "
            "requests end, gaps stay between the others: enough memory in all, but in no one piece. A paged cache "
            "allocates blocks on demand, anywhere; only the last block of a request has unused slots. "
            f"{fragmentation(shown.result)} When "
            "no block is left, the youngest request is preempted: it gives its blocks up and is computed again later."
        )
        p.question(
            "Why not blocks of one token, which have no internal fragmentation at all?",
            "Because attention would gather every key from an address of its own, and the block table would be as long "
            "as the sequence. GPUs read contiguous memory fastest, so blocks of 16 lose a little memory and read fast "
            "(arXiv:2309.06180, section 7.2).",
        )


def choose_traffic(every: float) -> Traffic:
    """The other settings of the requests."""
    prompt = controls.slider("Prompt, mean tokens", "prompt", 8, 128, 32, 8)
    output = controls.slider("Output, mean tokens", "output", 8, 128, 64, 8)
    longest = controls.slider("Maximum length", "longest", 256, 512, 256, 64)
    seed = controls.slider("Seed of the trace", "trace", 0, 20, 0)
    return Traffic(prompt=prompt, output=output, every=every, longest=longest, seed=seed)


SECTIONS: dict[str, Callable[[], None]] = {
    "with": with_and_without,
    "large": cache_size,
    "fit": does_it_fit,
    "paged": paged_cache,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
