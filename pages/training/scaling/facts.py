"""Facts of the page “Scaling”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="scaling",
    title="Scaling",
    icon="trending_up",
    order=30,
    question="How many parameters, and how many tokens?",
    claim="Scaling laws: the loss of a language model falls along a smooth curve as parameters and tokens grow. "
    "Fitted to small models, the curve predicts **before a large one is trained** how a budget of *C* operations is "
    "best split into *N* parameters and *D* tokens.",
    answers="How large, on how many tokens, at what cost? Published scaling laws, real models, and a ladder of our "
    "own.",
    shows="the best size and number of tokens for a budget by six published rules, with curves of equal compute; each "
    "law taken apart; 54 real models by size and year, and by their text where it is known; days, money and energy on "
    "chosen hardware, with the share of the peak that real runs reached; what a smaller model on more text loses and "
    "when it pays; our own ladder, its largest rungs predicted by the fit of the others",
    sections=Sections(
        label="Look at",
        key="part",
        names={
            "budget": "Split a budget",
            "law": "The laws",
            "models": "Real models",
            "cost": "What it costs",
            "beyond": "Over-training",
            "ours": "Our own ladder",
        },
    ),
    terms={"compute-optimal": "", "inference tokens": "", "PUE": "", "scaling law": ""},
)
