"""Facts of the page “Probing”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="probing",
    title="Probing",
    icon="linear_scale",
    order=50,
    question="What can be read off the stream by a straight line?",
    claim="A **linear probe** reads what is there, not what the model uses: add its direction to the stream, and see.",
    answers="What can a linear classifier read off the residual stream? Probes by layer, beside a control task.",
    shows="linear probes of the residual stream of `smollm2`, `stories` and `minilm`: part of speech, letter case, "
    "word length, position, seen before, next token, on a hand-tagged text that ships; accuracy by layer with "
    "intervals beside a control task with random labels and the most frequent class; by class, and word by word; two "
    "classes of a visitor's own sentences, told apart by the difference of their means or a probe, each line held "
    "out; a text along the direction; steering with it, or with a feature of `stories`: next tokens by factor, the "
    "text, and the factor at which it collapses; two sentences on `minilm`, their cosine as an exact sum over pairs "
    "of tokens",
    sections=Sections(
        label="See",
        key="show",
        names={
            "reads": "what a probe reads",
            "classes": "two classes of your own",
            "steer": "steer with it",
            "sentences": "two sentences",
        },
    ),
    terms={
        "control task": "",
        "linear probe": "",
        "sentence embedding": "show=two+sentences",
        "steering vector": "show=steer+with+it",
    },
)
