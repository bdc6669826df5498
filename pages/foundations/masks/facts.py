"""Facts of the page “Masks”."""

from pages.facts import Facts

FACTS = Facts(
    key="masks",
    title="Masks",
    icon="filter_b_and_w",
    order=60,
    question="Which tokens may attend to which?",
    claim="The attention mask removes pairs of query and key before the softmax. It makes attention causal, "
    "bidirectional or sparse, and keeps later tokens from leaking into the prediction of earlier ones.",
    answers="Which tokens may attend to which? Nine attention masks, and what leaks when the mask is missing.",
    shows="nine masks on the pasted text, any model and any head, scores and weights before and after, and a leak "
    "test with the largest difference as a number; a model trained without a mask, live, in which the label leaks",
    terms={
        "attention mask": "",
        "bidirectional attention": "kind=bidirectional",
        "causal mask": "kind=causal",
        "prefix-LM": "kind=prefix",
        "sliding window": "kind=window",
    },
    parts=("mask",),
)
