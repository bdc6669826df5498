"""Facts of the page “Interventions”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="interventions",
    title="Interventions",
    icon="healing",
    order=80,
    question="What if a part were different?",
    claim="An attention pattern shows a correlation; only an intervention shows what the prediction depends on. "
    "Ablate heads and layers, scale them, or patch in their activations from another text, and the model predicts "
    "again.",
    answers="What does each part do? Ablation and activation patching, on one text or on a set of prompts.",
    shows="any set of heads and feed-forward layers zero- or mean-ablated or scaled: the next token, the continuation "
    "with changed tokens marked, and the effect of every part alone on a token, on two tokens' logit difference or on "
    "the text: all estimated at once by attribution patching, then exact; activations patched from another text, over "
    "layers and positions; input attribution: occlusion, integrated gradients with their gap, and gradient times "
    "input of every token beside each other; a set of prompts, from a template or a CSV table: the metric, the "
    "largest parts and every part or layer as means with 95 % intervals",
    sections=Sections(
        label="Experiment",
        key="show",
        names={
            "switch": "Ablate and scale",
            "patch": "Activation patching",
            "inputs": "Input attribution",
            "sets": "A set of prompts",
        },
    ),
    terms={
        "ablation": "",
        "activation patching": "show=patch",
        "confidence interval": "show=sets",
        "mean ablation": "",
        "zero ablation": "",
    },
)
