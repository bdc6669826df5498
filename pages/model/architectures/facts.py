"""Facts of the page “Architectures”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="architectures",
    title="Architectures",
    icon="account_tree",
    order=20,
    question="Three kinds of Transformer",
    claim="Encoder, decoder and encoder-decoder are made of the same blocks; they differ in which tokens may attend "
    "to which, and so in what they can be trained to do.",
    answers="Encoder, decoder or both? Their attention masks, and a translation with its cross-attention.",
    shows="encoder, decoder and encoder-decoder side by side: the attention mask of each as you move two sliders; a "
    "sentence translated token by token with its cross-attention, masked tokens predicted by an encoder beside a "
    "causal decoder, a story continued; which real models are which",
    sections=Sections(
        label="Task",
        key="job",
        names={"translate": "translate", "fill": "predict a masked token", "stories": "continue the text"},
    ),
    terms={
        "cross-attention": "",
        "decoder": "",
        "denoising": "",
        "dynamic masking": "",
        "encoder": "",
        "encoder-decoder": "",
        "masked language modelling": "",
        "span corruption": "",
    },
    parts=("cross-attention", "encoder states", "masked tokens"),
)
