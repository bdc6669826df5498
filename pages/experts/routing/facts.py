"""Facts of the page “Routing”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="routing",
    title="Routing",
    icon="fork_right",
    order=10,
    question="Which expert takes which token?",
    claim="In a mixture of experts (MoE), a router sends each token to a few of many feed-forward layers: the model "
    "has many parameters, of which few are active per token. Here is the routing of a trained model.",
    answers="Which expert gets which token? A text coloured by its experts, expert specialisation, and other rules.",
    shows="your text through a mixture of experts: which experts get each token, with what weight, layer by layer; "
    "the router's probabilities, the load, expert specialisation over all held-out stories; other rules on the same "
    "router (experts per token, capacity, noise, expert choice), the model run again with them; total against active "
    "parameters and FLOPs, fine-grained and shared experts; a shared expert beside the routed ones, in a model that "
    "has one: what each writes, and the loss increase without it",
    sections=Sections(
        label="Show",
        key="show",
        names={
            "text": "routing",
            "experts": "expert specialisation",
            "what if": "other routing rules",
            "shared": "a shared expert",
            "size": "parameters and compute",
        },
    ),
    terms={
        "active parameters": "",
        "expert": "",
        "expert specialisation": "",
        "mixture of experts": "",
        "router": "",
        "routing consistency": "",
        "shared expert": "",
    },
    parts=("experts",),
)
