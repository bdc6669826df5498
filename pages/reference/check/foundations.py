"""Questions on tokens, attention, heads, positions and masks."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    ReadingQuestion,
    Wrong,
)
from tfcore.views.reference.check.measure import foundations as numbers

ROOT = Experiment(
    "attention",
    "Watch the softmax saturate as vectors get wider, with and without the root.",
    {"look": "Why the square root"},
)
DRAG = Experiment(
    "attention", "Drag a query towards a key and read scores, weights and output.", {"look": "Drag four tokens"}
)
SHUFFLE = Experiment("positions", "Set the scheme to none and shuffle the words: nothing changes.", {"scheme": "None"})
LEAK = Experiment(
    "masks", "Change one token and compare the outputs before it, with a mask and without.", {"position": "20"}
)

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="root",
        level=1,
        look=ROOT,
        ask="Why are attention scores divided by $\\sqrt{d_k}$?",
        right="Their variance grows with $d_k$; undivided, the softmax saturates and its gradient vanishes.",
        wrong=(
            Wrong(
                "So that the weights of a row sum to 1.", "The softmax does that by itself, whatever it is given.", DRAG
            ),
            Wrong("To save memory: smaller numbers take fewer bits.", "A float takes the same bits whatever its size."),
            Wrong(
                "So that heads of different widths cost the same.",
                "It is one multiplication per score at any width.",
                Experiment("heads", "One width cut into 1 to 16 heads.", {"show": "how heads are cut"}),
            ),
        ),
        because="A dot product of $d_k$ independent terms of variance 1 has variance $d_k$. Divided by the root it is "
        "1 at any width (arXiv:1706.03762, footnote 4).",
    ),
    ChoiceQuestion(
        name="order",
        level=1,
        look=SHUFFLE,
        ask="A model without any positions reads “dog bites man” and “man bites dog”, with no mask. What does it give "
        "the word “bites”?",
        right="The same output in both.",
        wrong=(
            Wrong(
                "Different outputs: the words are read from left to right.",
                "All tokens are read at once; only positions or a mask know an order.",
                LEAK,
            ),
            Wrong(
                "Different outputs: the softmax prefers near words.",
                "A score depends on the two vectors, not on how far apart they stand.",
                Experiment("positions", "ALiBi adds just that preference.", {"scheme": "ALiBi"}),
            ),
            Wrong("An error: attention needs positions.", "It computes happily; it only cannot tell orders apart."),
        ),
        because="Attention is a weighted sum over a set. Without positions it is permutation equivariant: shuffle the "
        "tokens and the outputs are shuffled along.",
    ),
    ChoiceQuestion(
        name="rope",
        level=2,
        look=Experiment("positions", "Move both tokens together: the score stays.", {"scheme": "RoPE"}),
        ask="With RoPE, what does the score of a query at $m$ and a key at $n$ depend on, besides the two vectors?",
        right="On $m - n$ alone.",
        wrong=(
            Wrong("On $m$ and $n$ separately.", "Rotating both by the same angle leaves the angle between them."),
            Wrong("On $m + n$.", "Query and key rotate the same way, so the dot product depends on the difference."),
            Wrong(
                "On neither: values are rotated, not scores.",
                "RoPE rotates queries and keys; values stay as they are.",
                Experiment("walkthrough", "The stage where queries and keys are rotated.", {"stage": "rotation"}),
            ),
        ),
        because="Rotations keep lengths, and $R_m q \\cdot R_n k = q \\cdot R_{n-m} k$ (arXiv:2104.09864, eq. 16).",
    ),
    ChoiceQuestion(
        name="mask",
        level=1,
        look=LEAK,
        ask="What would happen if a next-token model were trained without a causal mask?",
        right="Its training loss falls far below what is possible, and it generates nonsense.",
        wrong=(
            Wrong(
                "It learns the same, only slower.",
                "It learns to copy the answer it can see, and nothing else.",
                Experiment("pitfalls", "Train one without a mask beside a correct baseline.", {"kind": "no mask"}),
            ),
            Wrong("It generates better text: it attends to more.", "In generation there are no later tokens."),
            Wrong(
                "Training stops with an error.",
                "Nothing fails; that is what makes the mistake dangerous.",
                Experiment("pitfalls", "The loss curve that is too good to be true.", {"kind": "no mask"}),
            ),
        ),
        because="The token to be predicted stands in the input, one place to the right. Unmasked, the model copies it.",
    ),
    ChoiceQuestion(
        name="heads",
        level=1,
        look=Experiment("heads", "Every head of a trained model, with its kind."),
        ask="Eight heads of width 64 in place of one of width 512: what does that change?",
        right="Eight different patterns of attention, for about the same work and the same number of weights.",
        wrong=(
            Wrong(
                "Eight times as many weights.",
                "Each head is an eighth as wide, so the matrices keep their size.",
                Experiment("heads", "The same matrices, cut in other ways.", {"show": "how heads are cut"}),
            ),
            Wrong("Eight times as deep a model.", "Heads stand side by side in one layer, not one after the other."),
            Wrong(
                "Nothing: their results are averaged.",
                "They are concatenated and mixed by the output matrix.",
                Experiment("walkthrough", "The stage where heads are concatenated.", {"stage": "concat"}),
            ),
        ),
        because="The width is cut, not multiplied: $h$ heads of $d/h$ (arXiv:1706.03762, section 3.2.2).",
    ),
    ChoiceQuestion(
        name="bytes",
        level=1,
        look=Experiment("tokens", "Type an emoji and see the bytes it falls into.", {"text": "😀"}),
        ask="A byte-level BPE meets an emoji it has never seen in training. What happens?",
        right="It falls apart into several byte tokens, and can be put together again without loss.",
        wrong=(
            Wrong("It becomes the token for “unknown”.", "Byte-level BPE has none: every byte is a token."),
            Wrong("It is left out.", "Nothing is left out; decoding gives the very same text."),
            Wrong(
                "The vocabulary grows by one.",
                "The vocabulary is fixed once it is learned.",
                Experiment("tokens", "How merges are learned, once, before training.", {"part": "Learning merges"}),
            ),
        ),
        because="Any text is bytes, and all 256 bytes are in the vocabulary.",
    ),
    OrderQuestion(
        name="attention steps",
        level=1,
        look=Experiment("walkthrough", "Step through a real head.", {"stage": "scores"}),
        ask="Put the steps of one attention head in order.",
        steps=(
            "project to queries, keys and values",
            "dot products of queries and keys",
            "divide by the root of d_k",
            "set masked scores to minus infinity",
            "softmax over the keys",
            "weighted sum of the values",
        ),
        because="The mask comes before the softmax, so that the weights that are left still sum to 1.",
    ),
    ReadingQuestion(
        name="read previous",
        level=1,
        figure="previous",
        look=Experiment("heads", "The same heads, larger, with their scores.", {"layer": "1", "head": "1"}),
        ask="These are heads of stories on “{text}”. Rows are query tokens, columns key tokens. Which one is a "
        "previous-token head?",
        because="Its weight lies one place left of the diagonal: a mean weight of {score:.2f} on the previous token.",
    ),
    NumberQuestion(
        name="softmax",
        level=1,
        problem=numbers.softmax_weight,
        look=ROOT,
        ask="A query's dot products with three keys are {a:g}, {b:g} and {c:g}; $d_k$ is {d_k}. What weight does the "
        "first key get?",
        hints={
            "not scaled": "That is the softmax of the dot products: divide them by the root of d_k first.",
            "divided by d_k": "That divides by d_k; it is the root of it.",
        },
        because="$\\mathrm{{softmax}}(q \\cdot k / \\sqrt{{{d_k}}})$: divide by the root, then exponentiate and "
        "normalise.",
    ),
    NumberQuestion(
        name="spread",
        level=1,
        problem=numbers.score_spread,
        look=ROOT,
        ask="Queries and keys have independent entries of mean 0 and variance 1, and width {width}. What is the "
        "standard deviation of an unscaled score?",
        hints={
            "variance": "That is the variance: take the root.",
            "inverse": "That is the factor that undoes it.",
            "after scaling": "That is after the division; unscaled was asked.",
        },
        because="{width} terms of variance 1 add up to variance {width}, and its root is {answer:g}.",
    ),
    NumberQuestion(
        name="pairs",
        level=1,
        problem=numbers.causal_pairs,
        look=Experiment("masks", "The caption counts them.", {"kind": "causal"}),
        ask="How many (query, key) pairs does a causal mask leave of {n} tokens?",
        hints={
            "all": "That is all of them: a token does not attend to later ones.",
            "not itself": "Every token attends to itself, too.",
            "half": "Close: the diagonal belongs in full.",
        },
        because="1 + 2 + ... + {n} = n (n + 1) / 2 = {answer:,.0f}.",
    ),
    NumberQuestion(
        name="window",
        level=2,
        problem=numbers.window_pairs,
        look=Experiment("masks", "Move the window and read the count.", {"kind": "sliding window"}),
        ask="A causal sliding window lets each of {n} tokens attend to {window} tokens, itself included. How many "
        "pairs are left?",
        hints={
            "full rows": "The first tokens have fewer before them than the window allows.",
            "causal": "That is without the window.",
            "bidirectional": "That has later tokens, too.",
        },
        because="The first {window} rows grow from 1 to {window}, each later one has {window}: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="alibi",
        level=2,
        problem=numbers.alibi_slope,
        look=Experiment("positions", "Every head's slope.", {"scheme": "ALiBi"}),
        ask="ALiBi with {heads} heads: what is the slope of head {head}, counted from 1?",
        hints={
            "from zero": "That is the head before: the first slope is 2^(-8/n), not 1.",
            "other end": "That counts from the gentlest; the first head is the steepest.",
            "no 8": "The exponent is 8h/n, which reaches 8 at the last head whatever their number.",
        },
        because="$2^{{-8 \\cdot {head} / {heads}}}$ = {answer:.4g} (arXiv:2108.12409, section 3).",
    ),
    NumberQuestion(
        name="wavelength",
        level=2,
        problem=numbers.wavelength,
        look=Experiment("positions", "The wave of each pair, from fast to slow.", {"scheme": "Sinusoidal"}),
        ask="Sinusoidal positions of width {d_model}: after how many positions does pair $i$ = {pair} (counted from 0) "
        "repeat?",
        hints={
            "no 2 pi": "A wave repeats after 2 pi radians: multiply by it.",
            "frequency": "That is radians per position; the wavelength is 2 pi over it.",
            "i for 2i": "The exponent is 2i/d, not i/d.",
            "twice": "The exponent is 2i/d, not 4i/d.",
        },
        because="$2\\pi \\cdot 10000^{{2 \\cdot {pair} / {d_model}}}$ = {answer:,.1f}.",
    ),
    NumberQuestion(
        name="image",
        level=1,
        problem=numbers.image_tokens,
        unit="tokens",
        look=Experiment("tokens", "Cut a picture up and watch the length.", {"part": "Image"}),
        ask="An image of {side} x {side} pixels is cut into patches of {patch} x {patch}. How many tokens is that?",
        hints={
            "one side": "That is along one side: square it.",
            "pixels": "Those are pixels; a patch is one token.",
            "colours": "A patch holds all three colours: it is one token, not three.",
        },
        because="({side} / {patch})² = {answer:,.0f}; the three colours make a patch's vector longer, not the "
        "sequence.",
    ),
    NumberQuestion(
        name="sound",
        level=2,
        problem=numbers.audio_places,
        unit="places",
        look=Experiment("tokens", "A sound as frames, with the length.", {"part": "Sound"}),
        ask="Sound is cut into a frame every 10 ms, and a convolution of stride 2 follows, as in Whisper. How long is "
        "the sequence for {seconds} seconds?",
        hints={
            "frames": "Those are the frames: the stride of 2 halves them.",
            "samples": "Those are samples; 160 of them make a step of one frame.",
        },
        because="100 frames per second, halved: {answer:,.0f} places.",
    ),
    NumberQuestion(
        name="vanishing",
        level=1,
        problem=numbers.vanished_gradient,
        look=Experiment("recurrence", "Change the recurrent weights and read the factor per step."),
        ask="In a recurrent network a gradient is multiplied by {factor:g} at each step back. It leaves the output "
        "with norm 1: with what norm does it arrive {steps} steps back?",
        hints={
            "a sum": "The factors multiply, they do not add up.",
            "one step": "That is after one step.",
            "one less": "There are {steps} steps, each with its factor.",
        },
        because="{factor:g} to the power of {steps} is {answer:.2g}: distant tokens hardly learn.",
    ),
    ChoiceQuestion(
        name="recurrence",
        level=1,
        look=Experiment(
            "recurrence",
            "Three networks of equal size, trained to copy.",
            {"look": "Trained side by side", "task": "copy letters"},
        ),
        ask="What does attention give a model that a recurrent network of the same size lacks?",
        right="Every earlier token is reached in one step, however far back it stands.",
        wrong=(
            Wrong(
                "Fewer operations for long sequences.",
                "More: it compares all pairs of tokens, a recurrent network passes each token once.",
                Experiment("recurrence", "The time of one pass by length.", {"look": "Time of one pass"}),
            ),
            Wrong(
                "A memory of fixed size for any text.",
                "That is what a recurrent network has; keys and values grow with the text.",
                Experiment("kv-cache", "The size of keys and values by length."),
            ),
            Wrong("A sense of order.", "Recurrence reads in order by itself; attention needs positions.", SHUFFLE),
        ),
        because="The way from any token to the output is as long as there are layers, and all positions of a known "
        "text are computed at once (arXiv:1706.03762, table 1).",
    ),
)
