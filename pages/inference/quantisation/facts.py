"""Facts of the page “Quantisation”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="quantisation",
    title="Quantisation",
    icon="grid_4x4",
    order=40,
    question="What is lost with fewer bits?",
    claim="Quantisation stores weights, activations and caches on a coarse grid: less memory, some error. Where the "
    "error falls, and what it does to the loss, depends on **what shares a scale**.",
    answers="What is lost with fewer bits? Weights on their grid, outliers, loss against bits, a GGUF block opened.",
    shows="a row of weights on the grid of any data type from bf16 to int2, per matrix, row or group; the error of "
    "every matrix by layer and kind; outlier channels of activations, and rounding with one scale per text or per "
    "token; loss against bits for weights, activations, both (W8A8) and cache, and what a model then writes; a block "
    "of a GGUF file byte by byte; keys and values in fewer bits by channel or by token; each data type timed on this "
    "machine",
    sections=Sections(
        label="Look at",
        key="look",
        names={
            "row": "One row",
            "errors": "By layer",
            "outliers": "Outliers",
            "loss": "Loss",
            "block": "GGUF",
            "cache": "KV cache",
            "timed": "Timed here",
        },
    ),
    terms={"outlier channel": "look=outliers", "quantisation": ""},
    live=True,
)
