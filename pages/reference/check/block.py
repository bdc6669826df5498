"""Questions on normalisation, residual connections, feed-forward layers, initial weights and dropout."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    Wrong,
)
from tfcore.views.reference.check.measure import block as numbers

STANDS = Experiment(
    "normalisation", "Gradients by layer for pre-LN, post-LN, sandwich and none.", {"part": "Where it stands"}
)
FIRST_STEPS = Experiment("normalisation", "The first steps of both, with and without warm-up.", {"part": "First steps"})
HAND = Experiment("normalisation", "Type the numbers and follow every step.", {"part": "By hand"})
GRADIENTS = Experiment(
    "residuals", "The gradient at the first layer against depth, with skips and without.", {"part": "Gradients"}
)
WEIGHTS = Experiment("residuals", "Activations by depth for several initial weights.", {"part": "Initial weights"})
DROPOUT = Experiment("residuals", "The mask, the scale and the mean.", {"part": "Dropout"})
GATES = Experiment("feedforward", "Gates at matched widths.", {"panel": "Gates"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="pre or post",
        level=1,
        look=STANDS,
        ask="Why do most models since GPT-2 normalise before each sublayer (pre-LN) rather than after the sum "
        "(post-LN)?",
        right="Gradients are more even across layers at the start, so training needs little or no warm-up.",
        wrong=(
            Wrong(
                "Pre-LN has fewer parameters.",
                "Both have one norm per sublayer; pre-LN even adds one at the very end.",
                Experiment("parameters", "Count the norms.", {"model": "GPT-2 small"}),
            ),
            Wrong(
                "Post-LN cannot be trained at all.",
                "The first Transformer was post-LN; it needed a warm-up.",
                FIRST_STEPS,
            ),
            Wrong(
                "Pre-LN always ends at a lower loss.",
                "Post-LN is often as good once it trains; starting is what is hard.",
                FIRST_STEPS,
            ),
        ),
        because="After the sum, every norm also scales the gradient of the residual path; before the sublayer, the "
        "residual path has none (arXiv:2002.04745).",
    ),
    ChoiceQuestion(
        name="why residuals",
        level=1,
        look=GRADIENTS,
        ask="What do residual connections do for a deep network?",
        right="They give the gradient a path through sums alone, however deep the network (with pre-LN).",
        wrong=(
            Wrong(
                "They make each layer wider.",
                "The sum has the same width as what is added.",
                Experiment("stream", "One width from first to last.", {"show": "Length and direction"}),
            ),
            Wrong(
                "They keep activations from growing.",
                "The stream even grows with depth: every layer adds to it.",
                Experiment("stream", "The length of the stream, layer by layer.", {"show": "Length and direction"}),
            ),
            Wrong(
                "They save the work of a layer where it is not needed.",
                "Every layer is computed; its result is added.",
                Experiment("residuals", "The loss increase when a layer is left out.", {"part": "Skip blocks"}),
            ),
        ),
        because="$\\partial (x + f(x)) / \\partial x = 1 + f'(x)$: the 1 reaches the first layer from any depth "
        "(arXiv:1512.03385).",
    ),
    ChoiceQuestion(
        name="two n",
        level=2,
        look=WEIGHTS,
        ask="GPT-2 divides the initial weights that write to the residual stream by $\\sqrt{2N}$. Why?",
        right="2N updates are added up; divided so, their sum has the same variance at any depth.",
        wrong=(
            Wrong("To make 2N heads equally strong.", "N counts layers, and two sublayers write in each of them."),
            Wrong(
                "It replaces the division by $\\sqrt{d_k}$.",
                "That one is about dot products inside a head.",
                Experiment("attention", "The other square root.", {"look": "Why the square root"}),
            ),
            Wrong(
                "To keep the gradient from exploding through the softmax.",
                "The weights in question come after the softmax.",
            ),
        ),
        because="The variance of a sum of independent updates is the sum of variances: 2N times too much, so each gets "
        "1/(2N) of the variance.",
    ),
    ChoiceQuestion(
        name="axis",
        level=1,
        look=Experiment("normalisation", "The right axis and three wrong ones.", {"part": "Which axis"}),
        ask="Over which numbers does LayerNorm take mean and variance?",
        right="Over the features of each token by itself.",
        wrong=(
            Wrong("Over the tokens of a text.", "Then a token would change with those after it: a leak."),
            Wrong(
                "Over the texts of a batch.",
                "That is batch normalisation; a result would depend on the rest of the batch.",
            ),
            Wrong("Over all numbers of the layer.", "Tokens would share one scale, and padding would change it."),
        ),
        because="Each token is normalised alone, so length, batch and padding do not matter (arXiv:1607.06450).",
    ),
    ChoiceQuestion(
        name="two thirds",
        level=1,
        look=Experiment("feedforward", "The shares, drawn.", {"panel": "Share of a block"}),
        ask="Which part of a plain block of $d_{ff} = 4d$ has the most weights?",
        right="The feed-forward layer: two thirds of the block.",
        wrong=(
            Wrong("Attention: four matrices against two.", "Four of $d^2$ against two of $4d^2$: 4 to 8."),
            Wrong(
                "The norms.",
                "They have $2d$ each, against $12 d^2$ of the rest.",
                Experiment("parameters", "Find the norms in the ring.", {"model": "GPT-2 small"}),
            ),
            Wrong("They are equal.", "Equal would need $d_{ff} = 2d$."),
        ),
        because="$4d^2$ for attention, $8d^2$ for the feed-forward layer.",
    ),
    ChoiceQuestion(
        name="eval dropout",
        level=2,
        look=DROPOUT,
        ask="What does dropout do at inference?",
        right="Nothing: it is off, and the scale in training makes up for it.",
        wrong=(
            Wrong("It drops the same units each time.", "It drops none."),
            Wrong(
                "It multiplies everything by 1 - p.",
                "The first paper did; today kept values are scaled up in training.",
            ),
            Wrong(
                "It drops units at random, for variety.",
                "Variety comes from sampling tokens.",
                Experiment("generation", "Where a token is sampled.", {"show": "One token"}),
            ),
        ),
        because="Kept values are divided by 1 - p in training, so that the mean is the same with dropout off.",
    ),
    OrderQuestion(
        name="block steps",
        level=1,
        look=Experiment("walkthrough", "Step through a real block.", {"stage": "norm-1"}),
        ask="Put the parts of a pre-LN block in order.",
        steps=(
            "first normalisation",
            "attention",
            "add to the stream",
            "second normalisation",
            "feed-forward layer",
            "add to the stream again",
        ),
        because="Norm, sublayer, sum; and once more. The stream itself is never normalised inside a block.",
    ),
    NumberQuestion(
        name="layernorm",
        level=1,
        problem=numbers.layer_normed,
        look=HAND,
        ask="LayerNorm (scale 1, shift 0, eps 0) is given {numbers}. What does the first number become?",
        hints={
            "rms": "That is RMSNorm: LayerNorm takes the mean away first.",
            "n - 1": "That divides the variance by n - 1; LayerNorm divides by n.",
            "variance": "That divides by the variance; it is its root.",
            "only the mean": "The mean is gone; now divide by the standard deviation.",
        },
        because="Take the mean away, divide by the root of the mean square of what is left: {answer:.3f}.",
    ),
    NumberQuestion(
        name="rmsnorm",
        level=1,
        problem=numbers.rms_normed,
        look=HAND,
        ask="RMSNorm (scale 1, eps 0) is given {numbers}. What does the first number become?",
        hints={
            "layer": "That is LayerNorm: RMSNorm takes no mean away.",
            "length": "That divides by the length; RMSNorm divides by the root of the mean square.",
        },
        because="Divide by the root of the mean of the squares: {answer:.3f} (arXiv:1910.07467, eq. 4).",
    ),
    NumberQuestion(
        name="ffn",
        level=1,
        problem=numbers.feed_forward_count,
        unit="parameters",
        look=Experiment("feedforward", "The count by part.", {"panel": "Share of a block"}),
        ask="Exactly how many parameters does a feed-forward layer have (two matrices with biases, no gate) of $d$ = "
        "{d_model} and $d_{{ff}}$ = {d_ff}?",
        hints={
            "biases": "Those are the weights: the biases are missing, d_ff + d of them.",
            "one matrix": "There are two matrices, up and down.",
            "gated": "That has a third matrix, for a gate.",
            "one bias": "The second matrix has a bias, too: d more.",
            "only the output bias": "The first matrix has a bias, too: d_ff more.",
        },
        because="2 x {d_model} x {d_ff} weights and {d_ff} + {d_model} biases: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="swiglu",
        level=2,
        problem=numbers.gated_width,
        look=GATES,
        ask="A SwiGLU layer is to have as many weights as a plain one of width {plain} ($d$ = {d_model}). How wide may "
        "it be?",
        hints={
            "unchanged": "A gated layer has three matrices, so at the same width it has half as many again.",
            "half": "Three matrices against two: two thirds, not half.",
            "two thirds of d": "Two thirds of d_ff, not of d.",
        },
        because="Two thirds of {plain}: {answer:,.0f} (arXiv:2002.05202, section 2).",
    ),
    NumberQuestion(
        name="writers",
        level=2,
        problem=numbers.writer_std,
        look=WEIGHTS,
        ask="A GPT-2 of {layers} layers starts with a standard deviation of {std}. What is it for the matrices that "
        "write to the residual stream?",
        hints={
            "one a block": "Two sublayers write in each block: divide by the root of 2N.",
            "no root": "Variances add up, so it is the root of 2N.",
            "unchanged": "That is for all others.",
        },
        because="{std} / $\\sqrt{{2 \\cdot {layers}}}$ = {answer:.5f}.",
    ),
    NumberQuestion(
        name="dropout",
        level=1,
        problem=numbers.dropped,
        look=DROPOUT,
        ask="In training with dropout $p$ = {p}, a unit of value {x} is kept. What is its value after dropout?",
        hints={
            "unchanged": "Kept values are scaled, so that the mean stays.",
            "times": "Divide by 1 - p, not multiply.",
            "over p": "The divisor is 1 - p, the probability of being kept.",
        },
        because="{x} / (1 - {p}) = {answer:.4g}.",
    ),
    NumberQuestion(
        name="paths",
        level=2,
        problem=numbers.path_count,
        look=Experiment("residuals", "All the ways through a trained model.", {"part": "Skip blocks"}),
        ask="A model has {blocks} blocks of two sublayers. Unrolled, how many paths lead from the embedding to the "
        "output?",
        hints={
            "one a block": "There are two sublayers in a block, each with a way around it.",
            "not powers": "Each sublayer doubles the paths, it does not add two.",
        },
        because="Each of {blocks} x 2 sublayers can be passed through or around: 2^(2 x {blocks}) = {answer:,.0f} "
        "(arXiv:1605.06431).",
    ),
)
