"""Facts of the page “Modern blocks”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="modern",
    title="Modern blocks",
    icon="switch_left",
    order=30,
    question="What has changed since 2017?",
    claim="The block is still attention and a feed-forward layer, each in a residual connection. Seven switches lead "
    "from that of 2017 to that of today's open models; an eighth, tied embeddings, was there in 2017 and is a choice "
    "since.",
    answers="What has changed since 2017? Eight switches, one at a time: parameters, KV cache, latency and loss.",
    shows="from the block of 2017 to today's, one switch at a time, drawn before and after: parameters and KV cache "
    "counted for three sizes, prefill and decode latency measured while you look, held-out losses of 27 models "
    "trained alike, three for each version; soft caps, learned sinks and QK-norm, switched on in one head of a model; "
    "ten switches after 2023 and Muon, each alone against one base, trained with three seeds: the difference of the "
    "loss with its interval, scores, weight on the first token, the stream; how often a second prediction is "
    "confirmed, the learned weights between four streams; the first token of your text in every head; latent attention "
    "on your text, what is cached and what is rebuilt",
    sections=Sections(
        label="Switches", key="era", names={"first": "from 2017 to today", "second": "after 2023, one by one"}
    ),
    terms={"QK-norm": "switch=norm", "weight tying": ""},
    live=True,
)
