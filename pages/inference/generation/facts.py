"""Facts of the page “Generation”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="generation",
    title="Generation",
    icon="casino",
    order=10,
    question="How does it generate text?",
    claim="Autoregressive decoding: each token gets a probability of being next, one is **chosen** and appended, and "
    "so on.",
    answers="How is text generated? The next-token distribution and its filters, beam search as a tree, and "
    "speculative decoding.",
    shows="a conversation with an instruct model, its template shown as the tokens it becomes; the next token with "
    "the whole distribution, what temperature, top-k, top-p, min-p and the repetition penalty remove, and which token "
    "is sampled; greedy, sampling and beam search side by side; beam search as a tree; speculative decoding with each "
    "draft token accepted or rejected, its speed measured, and the proof that the distribution stays the same",
    sections=Sections(
        label="See",
        key="show",
        names={
            "token": "Sampling a token",
            "continue": "Decoding strategies",
            "beam": "Beam search",
            "speculative": "Speculative decoding",
            "conversation": "Conversation",
        },
    ),
    terms={
        "accepted draft tokens": "show=speculative",
        "autoregressive": "",
        "beam search": "show=beam",
        "draft length": "show=speculative",
        "greedy decoding": "",
        "max new tokens": "",
        "speculative decoding": "show=speculative",
        "temperature": "",
        "top-k sampling": "",
        "top-p sampling": "",
    },
    parts=("next token",),
    live=True,
)
