"""Facts of the page “Attention heads”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="heads",
    title="Attention heads",
    icon="grid_on",
    order=40,
    question="What does each head attend to?",
    claim="Each attention head of a trained model has attention weights of its own: one may attend to the previous "
    "token, another to the token that followed an earlier occurrence. Paste a text and see all heads at once.",
    answers="What does each head attend to? Paste a text and see every head of a trained model, with its kind.",
    shows="all heads of a model on a map of layers by heads, coloured by what each measurably does on a set of "
    "standard texts (previous token, first token, self, duplicate, induction, local, broad) or by a score, and those "
    "chosen as tiles; heads found by their weight between two tokens; the first token, which takes most of the "
    "attention in real models, hidden and the rest renormalised; one head, a layer's mean or the rollout as a map or "
    "as lines; one query token in every head; one attention score taken apart by what wrote at the query and at the "
    "key (why it looks there), also as the difference from another key; two heads, two texts or two models side by "
    "side; one width cut into 1 to 16 heads, and shared KV heads",
    sections=Sections(
        label="See",
        key="show",
        names={
            "heads": "every head",
            "why": "why it looks there",
            "compare": "side by side",
            "cuts": "how heads are cut",
        },
    ),
    terms={
        "attention head": "",
        "attention rollout": "of=rollout",
        "attention sink": "",
        "duplicate-token head": "",
        "grouped-query attention (GQA)": "show=cuts",
        "key token": "",
        "KV head": "show=cuts",
        "multi-head attention (MHA)": "",
        "multi-query attention (MQA)": "show=cuts",
        "previous-token head": "",
        "query token": "",
    },
    parts=("heads",),
)
