"""Facts of the page “Parameters”."""

from pages.facts import Facts

FACTS = Facts(
    key="parameters",
    title="Parameters",
    icon="donut_large",
    order=10,
    question="Where are the parameters?",
    claim="In the matrices: two thirds of a block with d_ff = 4 d are feed-forward, one third attention, and the "
    "narrower a model, the larger the share of its embedding table. Count any model, exactly, without building it.",
    answers="Where are the parameters, and what do they cost? Published models, or one of your own by sliders.",
    shows="every published model or your own by sliders: where the parameters are, exactly and by the formula, active "
    "beside total, FLOPs, memory in training and generation, two models compared, all presets in a table",
    terms={"FLOPs": "", "mixed precision": ""},
)
