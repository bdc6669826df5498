"""Facts of the page “Feed-forward”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="feedforward",
    title="Feed-forward",
    icon="memory",
    order=30,
    question="What do feed-forward layers compute?",
    claim="After attention, a feed-forward layer works on each token by itself. Each of its neurons is active on "
    "certain inputs (its **key**) and then adds a vector to the residual stream (its **value**).",
    answers="What do feed-forward layers compute? The texts a neuron is active on, and the tokens it promotes.",
    shows="one neuron of the shipped model: the texts it is most active on, the tokens it promotes, and its zero "
    "ablation; in any decoder the neurons that write the next token of your text, of 46,080 in SmolLM2; activation "
    "functions with their slopes, gates at matched widths, the share of a block",
    sections=Sections(
        label="Look at",
        key="panel",
        names={
            "neurons": "Neurons",
            "activations": "Activation functions",
            "gates": "Gates",
            "share": "Share of a block",
        },
    ),
    terms={
        "activation function": "panel=activations",
        "down-projection": "",
        "feed-forward layer": "",
        "gated linear unit (GLU)": "panel=gates",
        "neuron": "",
        "SwiGLU": "panel=gates",
    },
    parts=("feed-forward",),
)
