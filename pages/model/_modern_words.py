"""The page on modern blocks: what each switch is, whence it comes, and the sizes that are counted."""

from tfcore.analysis.modernising import first_of
from tfcore.training.recipes.ladder_modernisation import MODERNISATION

FIRST = {
    "small": MODERNISATION.model,
    "base": first_of(512, 6, 8, 37_000, 512),
    "large": first_of(4096, 32, 32, 32_000, 4096),
}
SIZE_NAMES = {
    "small": "ours, width 64", "base": "2017's base, width 512", "large": "width 4,096, 32 layers",
}  # fmt: skip
ABOUT = {
    "block of 2017": "Attention and ReLU layers, each added to what came in and normalised **after** the addition; "
    "sinusoidal positions added to the embedding; biases everywhere (arXiv:1706.03762). Its embeddings are not tied "
    "here, so that tying can be a switch of its own; in 2017 they were.",
    "pre-norm": "The norm moves **before** attention and feed-forward, and one more stands at the end. The sum itself "
    "is never normalised on its way, so gradients reach the first layer undamped and training needs less warm-up "
    "(arXiv:2002.04745). GPT-2 had it in 2019.",
    "RMSNorm": "Divide by the root of the mean square, and leave out the mean and the shift: as good, and less to "
    "compute (arXiv:1910.07467). T5 and LLaMA use it.",
    "RoPE": "Positions are no longer added: queries and keys are turned by an angle that grows with the position, so "
    "their product knows the distance alone (arXiv:2104.09864). No parameters either way.",
    "GQA": "Several heads of queries share one head of keys and values. The cache shrinks by that factor "
    "(arXiv:2305.13245). Llama 2 70B and nearly all since.",
    "SwiGLU": "Half of the feed-forward layer becomes a gate for the other half; its width falls to 8/3 d, so that "
    "three matrices weigh what two did (arXiv:2002.05202, equation 6). The widths are rounded up to a multiple of 8.",
    "no biases": "Linear layers without a shift: nothing is lost, and large models train more steadily "
    "(arXiv:2204.02311, section 2).",
    "tied": "The matrix that reads tokens also writes them (arXiv:1608.05859). Small models save much by it; large "
    "ones often keep two, because there it hardly matters.",
    "QK-norm": "Queries and keys are normalised before their product, so that no score can run away "
    "(arXiv:2010.04245). Qwen3 and Gemma 3 have it.",
}
