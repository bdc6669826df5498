"""Questions on induction heads, the residual stream and interventions."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    Question,
    ReadingQuestion,
    Wrong,
)
from tfcore.views.reference.check.measure import inside as numbers

FIND = Experiment("induction", "Repeated random tokens: find the stripe.", {"show": "find the heads"})
TWO = Experiment(
    "induction",
    "Path patching: queries, keys or values from a run without the earlier heads.",
    {"show": "the induction circuit"},
)
FILM = Experiment("induction", "The phase change, frame by frame.", {"show": "the phase change"})
WHO = Experiment(
    "stream", "Direct logit attribution: shares that add up exactly.", {"show": "Direct logit attribution"}
)
LENS = Experiment("stream", "What the model would predict after each layer.", {"show": "Logit lens"})
PATCH = Experiment("interventions", "Patch in activations from another text.", {"show": "Activation patching"})
PROBE = Experiment("probing", "Accuracy by layer beside the control task.")
SWITCH = Experiment("interventions", "Ablate any part.", {"show": "Ablate and scale"})
EXAMPLES = Experiment("in-context", "Accuracy by the number of examples.", {"task": "antonyms", "k": "16"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="stream",
        level=1,
        look=WHO,
        ask="What is the residual stream?",
        right="The running sum that every sublayer reads from and adds to.",
        wrong=(
            Wrong(
                "The errors that are left after training.",
                "That is the residual of statistics; here it is the running sum.",
            ),
            Wrong(
                "The output of the last layer.",
                "It runs from the embedding through all layers.",
                Experiment("stream", "Its norm at every layer.", {"show": "Norm and cosine"}),
            ),
            Wrong(
                "A memory that is kept between texts.",
                "It begins anew at every token of every text.",
                Experiment("kv-cache", "What is kept, and of what.", {"part": "With and without"}),
            ),
        ),
        because="Embedding plus what every sublayer wrote; logits are read from the sum, so shares add up.",
    ),
    ChoiceQuestion(
        name="induction",
        level=1,
        look=TWO,
        ask="Why does an induction head need a head in an earlier layer?",
        right="A previous-token head must first write into each token what stood before it.",
        wrong=(
            Wrong(
                "One layer cannot attend to equal tokens.",
                "It can: a duplicate-token head does; but it needs the one after.",
                Experiment("heads", "Heads of many kinds.", {"sort": "by kind"}),
            ),
            Wrong("The first layer is always local.", "Heads of any layer may attend to any earlier position."),
            Wrong("It averages the earlier head's pattern.", "It reads from the stream, not from patterns.", WHO),
        ),
        because="Its key must carry which token came before; the earlier head writes that (arXiv:2209.11895).",
    ),
    ChoiceQuestion(
        name="jump",
        level=2,
        look=FILM,
        ask="What happens to the loss when induction heads form?",
        right="It falls steeply within few steps, most of all on later tokens of a sequence.",
        wrong=(
            Wrong("It rises for good.", "On tokens that can be copied it falls, steeply."),
            Wrong("It falls evenly, as before.", "The curve has a step, and the heads appear at it."),
            Wrong("It falls on first tokens only.", "First tokens have nothing to copy from."),
        ),
        because="What stood in the context can be copied from then on: in-context learning (arXiv:2209.11895).",
    ),
    ChoiceQuestion(
        name="examples",
        level=1,
        look=EXAMPLES,
        ask="Sixteen examples stand in the prompt. What do they change in the model?",
        right="Activations alone: they are read as context, and no weight changes.",
        wrong=(
            Wrong("The last layer's weights, for this prompt.", "No weight changes; nothing is trained."),
            Wrong("All weights a little, by a few gradient steps.", "That is fine-tuning; here no gradient is taken."),
            Wrong("Nothing: only the question counts.", "Without examples the answers are different.", EXAMPLES),
        ),
        because="Learning from examples in the prompt is a forward pass (arXiv:2005.14165).",
    ),
    ChoiceQuestion(
        name="random labels",
        level=2,
        look=Experiment("in-context", "A made-up code.", {"task": "code", "k": "16", "labels": "random"}),
        ask="A code of letters and digits is made up for each prompt, and its examples get random labels. What is left "
        "of the accuracy?",
        right="That of a guess: the pairs can be known from the examples alone.",
        wrong=(
            Wrong("All of it: labels never matter.", "That holds at most where training has taught the pairs."),
            Wrong("Half of it.", "The examples say nothing of the right digit then."),
            Wrong("None: it is wrong every time.", "A guess is right now and then."),
        ),
        because="How much right labels matter depends on what was known before; compare capitals (arXiv:2202.12837).",
    ),
    ChoiceQuestion(
        name="lens",
        level=1,
        look=LENS,
        ask="What does the logit lens show?",
        right="What the model would predict if it stopped after a layer.",
        wrong=(
            Wrong("What each head attends to.", "That is the attention pattern.", Experiment("heads", "Patterns.")),
            Wrong("Which token the gradient comes from.", "No gradient is taken."),
            Wrong(
                "The final prediction: early layers have it already.",
                "Early predictions are often wrong; the lens shows that, too.",
            ),
        ),
        because="The stream after any layer goes through the final norm and the unembedding.",
    ),
    ChoiceQuestion(
        name="cause",
        level=2,
        look=SWITCH,
        ask="A head attends to the right word. Does that prove that the prediction depends on it?",
        right="No: ablate or patch it, and see whether the prediction changes.",
        wrong=(
            Wrong("Yes: attention is explanation.", "What it moves may be ignored, or done by another head as well."),
            Wrong(
                "Yes, if the weight is above 0.5.",
                "However large the weight, its value vector may be small.",
                Experiment("stream", "What it wrote.", {"show": "Direct logit attribution"}),
            ),
            Wrong("No: nothing about a model can be tested.", "It can: an intervention is an experiment.", PATCH),
        ),
        because="A pattern shows a correlation; an intervention tests a cause.",
    ),
    ChoiceQuestion(
        name="mean off",
        level=2,
        look=SWITCH,
        ask="Why mean ablation of a head rather than zero ablation?",
        right="Zero is out of distribution for later layers; the mean removes only what varies.",
        wrong=(
            Wrong("The mean is cheaper.", "It costs more: the mean must be measured."),
            Wrong("Zero would stop the residual stream.", "The stream goes on; only this head adds nothing.", WHO),
            Wrong("At zero the softmax divides by zero.", "The output is set, not the pattern."),
        ),
        because="With zero, part of the loss increase comes from the missing constant, not from missing information.",
    ),
    ChoiceQuestion(
        name="control task",
        level=2,
        look=PROBE,
        ask="A probe reads a property of 90 % of held-out words. Why is it also trained on random labels, one for each "
        "word type?",
        right="To see how much of its accuracy a probe could reach by memorising words.",
        wrong=(
            Wrong("To make the probe robust to noise.", "It is another probe; the first one never sees these labels."),
            Wrong("To find the best layer.", "That is read from the accuracy by layer."),
            Wrong("Because there are too few real labels.", "Random labels add none."),
        ),
        because="Accuracy less that of the control task is the probe's selectivity (arXiv:1909.03368).",
    ),
    ChoiceQuestion(
        name="probe and use",
        level=1,
        look=PROBE,
        ask="A linear probe reads the part of speech off layer 10. What follows?",
        right="The information is there, in a form that a linear map can read.",
        wrong=(
            Wrong("Layer 11 uses it.", "Only an intervention could show that.", SWITCH),
            Wrong("Layer 10 computed it.", "It may have come from any earlier layer, or from the embedding."),
            Wrong("One neuron stands for it.", "A probe reads a direction, in which many neurons take part."),
        ),
        because="A probe shows what can be read, not what is used.",
    ),
    ReadingQuestion(
        name="read induction",
        level=1,
        figure="induction",
        look=Experiment("induction", "The stripe, with scores.", {"show": "find the heads"}),
        ask="The shipped model stories, which was trained on such sequences too, reads {n} repeated random tokens. "
        "Rows are queries, columns keys. Which head is the strongest induction head?",
        because="Its stripe lies one place right of the query token's earlier occurrence: a mean weight of "
        "{score:.2f}.",
    ),
    ReadingQuestion(
        name="read sink",
        level=2,
        figure="spread",
        look=Experiment("heads", "Sort by score and read the entropies.", {"sort": "by score"}),
        ask="Heads of the shipped model on “{text}”. Which of them has the highest entropy (spreads its attention most "
        "evenly)?",
        because="Its rows are the palest: {score:.2f} bits on average, more than any other here.",
    ),
    NumberQuestion(
        name="copied",
        level=1,
        problem=numbers.copied_from,
        look=FIND,
        ask="The text so far is `{text}`. Counted from 0, to which position does an induction head attend from the "
        "last token?",
        hints={
            "same token": "That is the same token: it attends to the one right after it.",
            "token before": "That is a previous-token head.",
            "itself": "That is the token itself.",
            "from one": "Counted from 0, it is one less.",
        },
        because="Right after the earlier occurrence of the last token: {answer:.0f}.",
    ),
    NumberQuestion(
        name="head pairs",
        level=2,
        problem=numbers.pairs_of_heads,
        look=TWO,
        ask="{layers} layers of {heads} heads. In how many pairs can one head feed another through the stream?",
        hints={
            "same layer": "Heads of one layer run side by side and cannot feed each other.",
            "both orders": "Only the earlier one feeds the later.",
            "neighbours": "Layers need not be neighbours.",
            "one a head": "Every head of a layer with every head of the other: heads squared.",
        },
        because="{layers} x ({layers} - 1) / 2 pairs of layers, {heads}² pairs of heads in each: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="widest",
        level=1,
        problem=numbers.widest_entropy,
        unit="bits",
        look=Experiment("heads", "The entropy of every head.", {"sort": "by score"}),
        ask="A head spreads its attention evenly over {n} tokens. What is the entropy of that row in bits?",
        hints={"nats": "Those are nats.", "the weight": "That is the weight on each.", "n": "The logarithm of that."},
        because="log₂ {n} = {answer:.2f} bits: the most there can be.",
    ),
    NumberQuestion(
        name="share",
        level=1,
        problem=numbers.share_of_a_logit,
        look=WHO,
        ask="A logit is {logit}. Of it, the embedding contributed {embedding}, all attention {attention}, all "
        "feed-forward layers but the last {feed_forward}; there is nothing else. What did the last one give?",
        hints={
            "sign": "The sign is turned.",
            "no embedding": "The embedding's own share is missing.",
            "the logit": "That is the sum.",
        },
        because="Shares add up exactly: {answer:.1f}.",
    ),
    NumberQuestion(
        name="recovered",
        level=2,
        problem=numbers.recovered,
        look=PATCH,
        ask="The difference of two logits is {clean} on the clean text and {other} on the other one. One patch from "
        "the clean text makes it {patched}. What share of the difference does the patch recover?",
        hints={
            "what is missing": "That is what is still missing.",
            "of the clean": "Measure from the other text, not from 0.",
            "difference": "That is the gain itself: divide by clean less other.",
        },
        because="({patched} - {other}) / ({clean} - {other}) = {answer:.2f}.",
    ),
    NumberQuestion(
        name="length",
        level=2,
        problem=numbers.stream_length,
        look=Experiment("stream", "How the stream grows.", {"show": "Norm and cosine"}),
        ask="{n} updates of length 1, all at right angles, are added up. How long is the sum?",
        hints={
            "in a line": "That is if all point the same way.",
            "one": "Lengths do grow when directions differ.",
            "cancelled": "At right angles nothing cancels.",
        },
        because="The root of {n} is {answer:g}.",
    ),
)
