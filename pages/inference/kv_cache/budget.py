"""Panel of the page on the KV cache: weights and users' caches on a few GPUs, and what each remedy saves."""

import pandas as pd
import streamlit as st

from pages.inference.kv_cache import experiments as experiments
from pages.inference.kv_cache import models as models
from pages.inference.kv_cache.models import FORMULA
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inference import kv_cache, serving
from tfcore.analysis.inference.serving import Budget, Budgets, Model, Service
from tfcore.analysis.precision import stored_bytes
from tfcore.analysis.quantities import Unit, amount, counted

BLOCK = 16
GPUS = [1, 2, 4, 8, 16]
GIB = 2**30
SOLD = "What is sold as 80 GB has nearly 80 GiB: 80 × 2³⁰ = 85.9 × 10⁹ bytes."


budgets = cache.data(max_entries=128)(serving.budgets)


def panel() -> None:
    """The section: a service, the verdict, and the remedies."""
    page.try_this(
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
                "of": models.LATENT,
                "sharing": "built",
                "gpus": 8,
                "parallel": 8,
                "users": 64,
                "tokens": 131_072,
            },
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        given, more = st.container(), page.more_settings()
    with given:
        chosen = models.choose_model(more)
        users = controls.slider("Concurrent sequences (users)", "users", 1, 512, 16)
        tokens = models.choose_tokens()
        with more:
            gpus = controls.select("GPUs", "gpus", GPUS, 8)
            each = controls.slider("Memory of one GPU (GiB)", "memory", 8, 288, 80, help=SOLD)
            service = choose_way(chosen, users, tokens, gpus, each * GIB)
            unit = models.choose_unit()
    found = budgets(service, BLOCK)
    with right:
        asked, need = found["asked"]
        picture(chosen, found, unit)
        facts(asked, need, unit)
    st.dataframe(table(found, unit), hide_index=True)
    words(page.experiment(experiments.fits, chosen, made(serving.budgets, service, BLOCK), unit))


def choose_way(chosen: Model, users: int, tokens: int, gpus: int, memory: int) -> Service:
    """How it is served before any remedy."""
    sharing = controls.select("KV heads", "sharing", list(models.WAYS), "mha", models.WAYS)
    parallel = controls.select(
        "Tensor parallelism",
        "parallel",
        kv_cache.even_parts(gpus),
        min(4, gpus),
        help="GPUs that share one copy of the weights",
    )
    weights = models.choose_precision("Data type of weights", "weights")
    kept = models.choose_precision("Data type of the cache", "precision")
    filled = controls.slider("Mean length (% of max)", "filled", 5, 100, 50, 5)
    in_blocks = controls.toggle("Paged cache", "blocks", help=f"memory in blocks of {BLOCK} tokens")
    shape = kv_cache.shared(chosen.shape, sharing)
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


def facts(service: Service, need: Budget, unit: Unit) -> None:
    """The verdict and the two sizes it comes from."""
    other: Unit = "binary" if unit == "decimal" else "decimal"
    one = kv_cache.cache_bytes(service.shape, service.tokens, 1, service.cache)
    model = stored_bytes(service.parameters, service.weights)
    groups = service.gpus // service.parallel
    copies = "1 copy" if groups == 1 else f"{groups} copies"
    for place, (label, value, note) in zip(
        st.columns(3),
        (
            ("It fits" if need.fits else "It does not fit", need.verdict(unit), "on the fullest GPU"),
            ("KV cache of a full sequence", amount(one, unit), amount(one, other)),
            ("Weights", amount(model, unit), f"{copies}, each on {counted(service.parallel, 'GPU')}"),
        ),
        strict=True,
    ):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")


def picture(chosen: Model, found: Budgets, unit: Unit) -> None:
    """A bar for each remedy against the memory of one GPU."""
    shown = experiments.fits(chosen, found, unit)
    figure(
        shown.figure,
        key="budget",
        height=150 + 44 * len(found),
        min_width=340,
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: table(found, unit),
    )


def table(found: Budgets, unit: Unit) -> pd.DataFrame:
    """The same in numbers, and how far each would go."""
    names = serving.remedy_names(found["asked"][0])
    return pd.DataFrame(
        [
            {
                "remedy": names[name],
                "fits": "yes" if need.fits else "no",
                "cache on the fullest GPU": amount(need.cache, unit),
                "weights on it": amount(need.weights, unit),
                "left over": amount(need.free, unit),
                "most users": need.most_users_words,
                "longest context that fits": need.longest_words,
            }
            for name, (_, need) in found.items()
        ]
    )


def words(experiment: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "Each bar changes one thing and keeps the rest. Fewer KV heads and smaller data types shrink the cache of "
        "every sequence; fewer KV heads also shrink W_K and W_V. A paged cache takes memory for tokens that are there, "
        "not for the maximum length. Tensor parallelism splits one copy of the weights over more GPUs and so frees the "
        "memory of the other copies; the caches in all stay as large. Split over more GPUs than there are KV heads, "
        "several GPUs keep the same head; the latent vector is kept by all."
    )
    page.question(
        "Doubling the users or doubling the length of their sequences: which of the two needs more memory?",
        "Neither: the cache is a product, so both double it. They differ where there is a sliding window: beyond it, a "
        "longer sequence costs a model such as Mistral 7B nothing more, and another user always does.",
    )
    page.how_it_is_computed(
        experiment,
        formula=FORMULA,
        code=(serving.budget, serving.user_bytes, serving.remedies),
        papers=(
            "Paged cache: arXiv:2309.06180. Tensor parallelism: arXiv:1909.08053, section 3. Grouped-query attention: "
            "arXiv:2305.13245. 5 % of each GPU is kept free for activations; real servers need some room more, and "
            f"int8 a few per cent for its scales. {SOLD}"
        ),
    )
