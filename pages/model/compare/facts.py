"""Facts of the page “Two models compared”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="compare",
    title="Two models compared",
    icon="compare",
    order=35,
    question="What is different in the second model?",
    claim="Tuned, rounded, earlier in training or another model: where on **your text** the two differ, in which "
    "heads, weights and layers.",
    answers="What did tuning or rounding change? Two models on your text: tokens, heads, weights, layers.",
    shows="two models on your text: a model and itself with fewer bits, tuned with LoRA, at another checkpoint, within "
    "its chat template, or another model; KL divergence and surprise token by token, by characters where vocabularies "
    "differ; the distance of every head's two maps; norm and effective rank of what moved in each matrix; the KL "
    "divergence that is left with the stream of one put into the other, layer by layer",
    sections=Sections(
        label="Look at",
        key="look",
        names={"tokens": "Tokens", "heads": "Heads", "weights": "Weights", "layers": "Layers"},
    ),
)
