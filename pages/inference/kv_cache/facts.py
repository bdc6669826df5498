"""Facts of the page “KV cache”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="kv-cache",
    title="KV cache",
    icon="inventory_2",
    order=20,
    question="Why cache keys and values?",
    claim="In a causal decoder the keys and values of earlier tokens never change, so generation **caches them**. "
    "Each new token then costs one row of attention, not a pass over the whole sequence; the price is memory, for "
    "every token of every user.",
    answers="Why keep keys and values? Generation with and without the KV cache, its size, and whether it fits.",
    shows="one text generated with the KV cache and without, measured as it runs, the logits compared; its size for "
    "every published decoder under MHA, GQA, MQA and MLA; what fits on your GPUs and what each remedy brings; a trace "
    "of requests on contiguous and on paged memory",
    sections=Sections(
        label="Look at",
        key="part",
        names={"with": "With and without", "large": "Cache size", "fit": "Does it fit?", "paged": "Paged cache"},
    ),
    terms={
        "data type": "part=large",
        "decode latency": "",
        "external fragmentation": "part=paged",
        "internal fragmentation": "part=paged",
        "KV cache": "part=large",
        "paged attention": "part=paged",
        "prefill": "",
        "reserved memory": "part=paged",
    },
    live=True,
)
