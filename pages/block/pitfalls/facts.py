"""Facts of the page “Pitfalls”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="pitfalls",
    title="Pitfalls",
    icon="bug_report",
    order=40,
    question="Break it on purpose",
    claim="A Transformer with a mistake seldom crashes: it trains, and something is a little off. Here each mistake "
    "is trained beside a baseline without it, with the same seed and the same batches.",
    answers="What if it is built wrong? Eight mistakes, each trained live beside a baseline.",
    shows="eight mistakes (no mask, no residual, no scaling, float16 unscaled ...), each trained live beside a "
    "baseline",
    sections=Sections(
        label="Mistake",
        key="kind",
        names={
            "mask": "no mask",
            "axis": "wrong norm axis",
            "skip": "no residual",
            "final": "no final norm",
            "scale": "no scaling",
            "positions": "no positions",
            "rate": "rate too large",
            "half": "float16, unscaled",
        },
    ),
    live=True,
)
