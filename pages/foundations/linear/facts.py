"""Facts of the page “Linear-time mixers”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="linear",
    title="Linear-time mixers",
    icon="linear_scale",
    order=25,
    question="What do the newest models have beside attention?",
    claim="A state of fixed size, carried from token to token: **linear attention**, **state space models** and the "
    "**delta rule** are one formula with a few switches. Each implies a (query, key) matrix, as attention has one, and "
    "pays for its fixed size with what it can recall.",
    answers="What do hybrids have beside attention? Linear attention, SSD, delta rules, short convolutions: matrix, "
    "state, recall.",
    shows="linear attention, decay (RetNet), gated linear attention, SSD (Mamba-2), the delta rule and its gated form, "
    "and the short convolution of LFM2: the matrix that each implies for a head of any decoder on your text, beside "
    "its softmax attention; the state that it carries, token by token: what is written, faded, erased and still held; "
    "random pairs stored in states of any size, beside softmax; eight networks trained alike to recall pairs, live, "
    "and by the size of their states; hybrids with one layer of attention in four; time and memory by "
    "length, measured here",
    sections=Sections(
        label="Look at",
        key="look",
        names={
            "matrix": "Matrix and state",
            "recall": "Recall and size of the state",
            "training": "Trained side by side",
            "time": "Time and memory",
        },
    ),
    parts=("mixer",),
    terms={"linear attention": "", "state space model": "", "delta rule": ""},
)
