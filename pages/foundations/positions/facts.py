"""Facts of the page “Positions”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="positions",
    title="Positions",
    icon="airwave",
    order=50,
    question="How does a model know the order?",
    claim="By themselves, attention scores do not depend on the order of the tokens. Each scheme adds positions in "
    "another place: sinusoidal and learned position embeddings are **added to the embeddings**, RoPE **rotates "
    "queries and keys**, ALiBi **lowers scores** with distance.",
    answers="How does a model know the order? Sinusoidal, learned, RoPE, ALiBi and none, with sliders.",
    shows="sinusoidal positions as heatmap, curves and dot products, the shift matrix with its live error; RoPE as "
    "arrows that rotate, ALiBi, learned, none; the permutation experiment; every scheme on one head of a trained "
    "model; five models trained alike, evaluated beyond their training length",
    sections=Sections(
        label="Scheme",
        key="scheme",
        names={
            "sinusoidal": "Sinusoidal",
            "learned": "Learned",
            "rope": "RoPE",
            "alibi": "ALiBi",
            "none": "None",
            "together": "All on one head",
            "beyond": "Beyond the length",
        },
    ),
    terms={
        "ALiBi": "scheme=alibi",
        "length extrapolation": "scheme=beyond",
        "positional encoding": "",
        "rotary position embedding (RoPE)": "scheme=rope",
        "sinusoidal positions": "scheme=sinusoidal",
    },
    parts=("positions",),
)
