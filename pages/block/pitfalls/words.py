"""Words of the page on pitfalls: what each mistake is, how it looks in code, what it leaves behind."""

from dataclasses import dataclass

from tfcore.training.pitfalls import Pitfall


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeWords:
    """The words on one mistake.

    Args:
        claim: what is broken, and what that does.
        change: the mistake as a change of code.
        dose: label of the control that says how much of the mistake, where there is one.
        doses: how its values are called.
        see: what to see.
        settle: how to find this mistake at work.
        source: the paper.
    """

    claim: str
    change: str
    dose: str = ""
    doses: str = "{}"
    see: str
    settle: str
    source: str


WORDS: dict[Pitfall, MistakeWords] = {
    "mask": MistakeWords(
        claim="**The causal mask is forgotten in training**, so that each letter attends to the one it should predict.",
        change="- scores = scores.masked_fill(~mask, -inf)\n  weights = softmax(scores)",
        see="After enough steps the training loss falls below the entropy of the task, which no causal model can "
        "reach. With the mask on, as in generation, the loss of the same model is higher: it has learned to copy the "
        "next letter.",
        settle="Change a token and compare the outputs before it (the page on masks does it).",
        source="arXiv:1706.03762, section 3.2.3",
    ),
    "axis": MistakeWords(
        claim="**The norm works over the batch instead of the features**, so that each text's numbers depend on "
        "which other texts happen to be beside it.",
        change="- scale = x.pow(2).mean(-1, keepdim=True)\n+ scale = x.pow(2).mean(0, keepdim=True)",
        see="Shapes fit, nothing crashes, and the training loss hardly differs. Only when the model reads one text "
        "by itself, as it does when somebody uses it, the loss is far higher: the letters it was trained to expect "
        "beside it are gone.",
        settle="Run one text alone and inside a batch: the outputs must be equal.",
        source="the norm works over features: arXiv:1910.07467, equation 4",
    ),
    "skip": MistakeWords(
        claim="**Each sublayer replaces the stream instead of adding to it**, so that every gradient has to pass "
        "through all of them.",
        change="- x = x + sublayer(norm(x))\n+ x = sublayer(norm(x))",
        dose="Layers",
        see="With many layers the loss stops at that of a unigram model: the last layer learns how often each letter "
        "occurs, and no information about the text reaches it. With one layer it still learns; each further one makes "
        "the gradient at the first block smaller.",
        settle="Print the gradient norm of every layer after the first step.",
        source="arXiv:1512.03385; in Transformers arXiv:1706.03762, section 3.1",
    ),
    "final": MistakeWords(
        claim="**The norm before the unembedding is missing** in a pre-norm model, so that the size of the stream "
        "becomes the size of the logits.",
        change="- logits = unembed(ln_final(x))\n+ logits = unembed(x)",
        dose="Layers",
        see="The stream begins very small, so all logits are near 0 and the gradients small: the model spends its "
        "first steps on growing the stream many times over and lags behind. It learns in the end, which makes this "
        "mistake hard to notice without a baseline.",
        settle="Compare the size of the last hidden states with 1, before and after training.",
        source="pre-norm models end with one: arXiv:2002.04745, table 1",
    ),
    "scale": MistakeWords(
        claim="**Scores are not divided by the root of d_k**, so that the softmax is saturated from the first step.",
        change="- scores = q @ k.T / sqrt(d_k)\n+ scores = q @ k.T",
        dose="Width of a head d_k",
        see="Queries and keys begin with components of variance 1, so their products have variance d_k. Without the "
        "division one key takes most of the attention by chance, and a saturated softmax passes "
        "hardly any gradient: the model learns late. The wider the head, the later.",
        settle="Measure the entropy of the attention weights before training: it should be near its maximum.",
        source="arXiv:1706.03762, section 3.2.1 and footnote 4",
    ),
    "positions": MistakeWords(
        claim="**The model has no positions**, and this encoder is trained to reverse sequences of symbols.",
        change="- x = embed(ids) + position_table[:n]\n+ x = embed(ids)",
        see="The loss stays above a number that can be computed: the best that is possible from the set of symbols "
        "without their order. Equal symbols always get equal outputs. In a causal model the mistake is harder to see, "
        "because the mask gives some information about order.",
        settle="Shuffle the input: if the outputs are just shuffled alike, no position got in.",
        source="arXiv:1706.03762, section 3.5",
    ),
    "rate": MistakeWords(
        claim="**The learning rate is too large**, so that each step of Adam overshoots.",
        change="- optimizer = AdamW(weights, lr=3e-3)\n+ optimizer = AdamW(weights, lr=3e-3 * factor)",
        dose="Times too large",
        doses="× {}",
        see="Adam's steps are about as large as the learning rate whatever the gradient is, so the weights grow in the "
        "first steps. Choose 10, 100 and 300 times, and read under the figures what the loss reaches. Gradient "
        "clipping is on and does not help: Adam divides by the size of the gradient anyway.",
        settle="Divide the rate by three: if the loss improves at once, it was too large. Warm up at the start.",
        source="the size of Adam's steps: arXiv:1412.6980, section 2.1",
    ),
    "half": MistakeWords(
        claim="**Gradients are kept in float16 without loss scaling**, and what is smaller than about 3e-8 becomes 0.",
        change="- (loss * 65536).backward(); gradients /= 65536\n+ loss.backward()",
        dose="Batches of 768 letters in one step's mean",
        see="The more tokens one step's mean goes over, the smaller is each one's gradient. Multiplying the loss "
        "before the backward pass and dividing the gradients afterwards costs next to nothing and saves them. With 1 "
        "batch of this size nothing bad happens, which is why the mistake shows only when training gets large.",
        settle="Count the zeros among the gradients of the activations, or switch to bfloat16, which has the range "
        "of float32.",
        source="arXiv:1710.03740, section 3.2",
    ),
}
