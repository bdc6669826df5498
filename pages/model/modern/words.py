"""The page on modern blocks: what each switch is, whence it comes, and the sizes that are counted."""

from tfcore.presets import NAMES
from tfcore.training.hyper_connections import STREAMS
from tfcore.training.modernisation import first_of
from tfcore.training.multi_token import WEIGHT
from tfcore.training.recipes.ladder_modernisation import MODERNISATION
from tfcore.training.second_wave import CAP, REGISTERS
from tfcore.views.model.modern.measure import tying

FIRST = {
    "small": MODERNISATION.model,
    "base": first_of(512, 6, 8, 37_000, 512),
    "large": first_of(4096, 32, 32, 32_000, 4096),
}
SIZE_NAMES = {"small": "ours, width 64", "base": "2017's base, width 512", "large": "width 4,096, 32 layers"}
_TIED = tying()
_UNTIED = ", ".join(NAMES[name] for name in _TIED[False])
ABOUT = {
    "block of 2017": "Attention and a ReLU feed-forward layer, each with a residual connection and a LayerNorm "
    "**after** the addition; sinusoidal positions added to the embeddings; biases in the linear layers "
    "(arXiv:1706.03762). The embeddings are not tied here, so that tying can be a switch of its own; in 2017 they "
    "were (section 3.4).",
    "pre-norm": "The norm moves **before** attention and feed-forward, and one more stands at the end. The residual "
    "stream itself is not normalised between the blocks; training needs less warm-up or none (arXiv:2002.04745). "
    "GPT-2 had it in 2019.",
    "RMSNorm": "Divide by the root mean square; subtract no mean and add no shift. The paper finds comparable quality "
    "and less time (arXiv:1910.07467). T5 and LLaMA use it.",
    "RoPE": "Positions are no longer added to the embeddings: queries and keys are rotated by an angle that grows with "
    "the position. A score depends on the content of both tokens, and on their positions only through the distance "
    "(arXiv:2104.09864, equation 16). Neither scheme has parameters.",
    "GQA": "Grouped-query attention: several query heads share one KV head. The KV cache shrinks by that factor, and "
    "W_K and W_V with it (arXiv:2305.13245). LLaMA 2 70B, LLaMA 3 and Mistral 7B have it.",
    "SwiGLU": "A gated feed-forward layer: a second up-projection, through SiLU, multiplies the first. Its width falls "
    "to 8/3 d, so that three matrices have as many parameters as two had (arXiv:2002.05202, equation 6). The widths "
    "are rounded up to a multiple of 8.",
    "no biases": "Linear layers without biases; PaLM's authors found that large models train more stably so "
    "(arXiv:2204.02311, section 2).",
    "tied": "Weight tying: embedding and unembedding are one matrix (arXiv:1608.05859). It is no step since 2017, when "
    "they were tied as well, but a choice: of the models on the page of parameters, those that do **not** tie are "
    f"{_UNTIED}.",
    "QK-norm": "Queries and keys are normalised before their product, which bounds the scores (arXiv:2010.04245). "
    "Qwen3 and Gemma 3 have it.",
}
AFTER_2023 = {
    "QK-norm": "Queries and keys of each head are normalised before their product, with a learned gain "
    "(arXiv:2010.04245; ViT-22B, Gemma 3, Qwen3). A score is then a cosine times a constant.",
    "soft cap": f"Scores are bent to {CAP:g} · tanh(s / {CAP:g}) (Gemma 2, arXiv:2408.00118, section 2, with 50; the "
    "scores of models this small would never come near that).",
    "sink": "Each head has one learned score besides those of the keys, which takes part in every softmax and belongs "
    "to no token (gpt-oss, arXiv:2508.10925, section 2.2).",
    "norm after": "Post-norm again, but inside the residual connection: a norm reads what attention and feed-forward "
    "**write**, none what they read, and queries and keys are normalised over all heads (OLMo 2, arXiv:2501.00656, "
    "section 3.2).",
    "NoPE layers": "Every second layer has no positions: its queries and keys are not rotated, and only the causal "
    "mask tells it the order (arXiv:2305.19466; SmolLM3 and Command A in every fourth).",
    "MLA": "Multi-head latent attention: the keys and values of all heads are made from one short vector of each "
    "token, which alone is cached, with one rotated key that the heads share (DeepSeek-V2, arXiv:2405.04434, section "
    "2.1).",
    "gate": "What the heads put out is multiplied, number by number, with the sigmoid of a linear layer of the token "
    "(arXiv:2505.06708, section 2.2; Qwen3-Next).",
    "registers": f"{REGISTERS} learned tokens stand before each text and are never predicted: room for weight that no "
    "token needs (arXiv:2309.16588 for pictures; arXiv:2309.17453, section 3.3, one for texts).",
    "Muon": "The base, trained with Muon in the place of AdamW, on the same batches and at the same rate: the momentum "
    "of each matrix of the blocks is made nearly orthogonal before the step (arXiv:2502.16982).",
    "multi-token": "One more block behind the decoder reads its state and the embedding of the next token, and "
    "predicts the token **after** it through the same unembedding; its loss joins with a weight of "
    f"{WEIGHT:g} (DeepSeek-V3, arXiv:2412.19437, section 2.2; arXiv:2404.19737). The block can be left out "
    "afterwards, or guess ahead.",
    "hyper-connections": f"{STREAMS} residual streams in the place of one: each layer reads a weighted sum of them, "
    "writes to each with a weight of its own, and a matrix mixes the streams, all learned: "
    f"{STREAMS * (STREAMS + 2)} numbers for each layer. At first all is as in a pre-norm block "
    "(arXiv:2409.19606, section 2, the static form).",
}
