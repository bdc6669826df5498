"""Facts of the page “Residual stream”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="stream",
    title="Residual stream",
    icon="water",
    order=70,
    question="What is written in the residual stream?",
    claim="All layers write into one vector per token, and the prediction is read from it at the end. Because it is a "
    "sum, each part's share in a logit can be computed exactly, and the sum can be read after any layer.",
    answers="Where does a logit come from? The contribution of every part, and the logit lens layer by layer.",
    shows="every head's, layer's and the embedding's share in a chosen token's logit, adding up exactly; the logit "
    "lens as a grid of predictions, the tuned lens, the Jacobian lens and a Patchscope where a model has them, and the "
    "KL divergence of each from the model; length and direction of the stream; any layer left out, and the loss "
    "increase of each token",
    sections=Sections(
        label="Look at",
        key="show",
        names={
            "who": "Direct logit attribution",
            "lens": "Logit lens",
            "shape": "Norm and cosine",
            "skip": "Skip a layer",
        },
    ),
    terms={
        "direct logit attribution": "show=who",
        "logit": "",
        "logit lens": "show=lens",
        "residual stream": "",
        "tuned lens": "show=lens&by_lens=tuned",
        "Jacobian lens": "show=lens",
        "Patchscope": "show=lens&by_lens=patchscope",
    },
    parts=("unembedding",),
)
