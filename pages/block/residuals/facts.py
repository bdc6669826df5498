"""Facts of the page “Residual connections”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="residuals",
    title="Residual connections",
    icon="alt_route",
    order=20,
    question="Why residual connections?",
    claim="Each sublayer adds its output to the residual stream, which runs from the first layer to the last. "
    "Gradients flow back along the sums, and a model without one of its sublayers still computes something.",
    answers="Why residual connections? Gradients in up to 64 layers, and a model with any of its sublayers left out.",
    shows="gradients against depth with and without skips, all 256 ways to leave out sublayers of a trained model "
    "with its loss and text, initial weights by depth, dropout",
    sections=Sections(
        label="Look at",
        key="part",
        names={
            "Gradients": "Gradients",
            "Skip blocks": "Skip blocks",
            "Initial weights": "Initial weights",
            "Dropout": "Dropout",
        },
    ),
    terms={"dropout": "part=Dropout", "rank collapse": "part=Gradients", "residual connection": ""},
    parts=("residual connection",),
)
