"""Facts of the page “Normalisation”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="normalisation",
    title="Normalisation",
    icon="straighten",
    order=10,
    question="What does normalisation do?",
    claim="LayerNorm and RMSNorm bring each token's vector to the same size, before a learned scale. Over which axis "
    "they normalise, and whether they stand **before** a sublayer (pre-LN) or **after** the sum (post-LN), decide how "
    "well a deep network trains.",
    answers="What does normalisation do? LayerNorm and RMSNorm by hand, and pre-LN against post-LN, trained live.",
    shows="LayerNorm and RMSNorm by hand on numbers you type, the right axis and three wrong ones, gradients by layer "
    "for pre-LN, post-LN, sandwich and none up to 64 layers, their first training steps with and without warm-up, live",
    sections=Sections(
        label="Look at",
        key="part",
        names={
            "By hand": "By hand",
            "Which axis": "Which axis",
            "Where it stands": "Where it stands",
            "First steps": "First steps",
        },
    ),
    terms={
        "LayerNorm": "",
        "post-LN": "part=Where+it+stands",
        "pre-LN": "part=Where+it+stands",
        "RMSNorm": "",
        "warm-up": "part=First+steps",
    },
    parts=("norm",),
)
