"""Why it trains: residual connections, norms, initial weights and the mask, each taken away once."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="why-it-trains",
    title="why it trains",
    for_whom="anyone who has trained a network, and wonders why so many layers work",
    carried={"model": "stories"},
    stops=(
        Stop(
            page="residuals",
            view={"part": "Gradients"},
            carries=(),
            figure="first",
            words="The gradient that arrives at the first layer of networks with more and more layers, before any "
            "training. A residual connection gives it a way that passes no matrix.",
            action="Find the line of the network that has neither residual connections nor norms.",
            question="How much of the gradient arrives in the deepest network with neither, and how much in others?",
            answer=PageAnswer("first", "FirstGradients"),
        ),
        Stop(
            page="residuals",
            view={"part": "Skip blocks"},
            carries=(),
            figure="paths",
            words="Because every sublayer adds to a stream, a model still works when one is left out: it is a sum of "
            "many paths, short and long.",
            action="Click a dot, and see which sublayers it leaves out.",
            question="What happens to the loss as more and more sublayers are left out?",
            answer=PageAnswer("paths", "ChosenSubset"),
        ),
        Stop(
            page="normalisation",
            view={"part": "By hand"},
            carries=(),
            figure="steps",
            words="A norm brings the features of one token to a fixed size. LayerNorm takes away their mean first, "
            "RMSNorm does not.",
            action="Add the same number to every feature, and see which of the two notices.",
            question="By which number does each of the two divide these features?",
            answer=PageAnswer("steps", "norm divisors"),
        ),
        Stop(
            page="normalisation",
            view={"part": "Where it stands"},
            carries=(),
            figure="gradients",
            words="Where the norm stands decides what reaches the last layers. Before the sublayers (pre-LN) the "
            "stream itself is never rescaled; after them (post-LN) it is, each time.",
            action="Compare the last layer of post-LN with that of pre-LN.",
            question="In which arrangement is the gradient of the last layer larger, pre-LN or post-LN?",
            answer=PageAnswer("gradients", "LastGradients"),
        ),
        Stop(
            page="residuals",
            view={"part": "Initial weights"},
            carries=(),
            figure="starts",
            words="The stream grows with every layer that adds to it. GPT-2 makes the weights of what is added "
            "smaller, the more layers there are.",
            action="Change the number of layers.",
            question="Which initial weights make the stream largest after the last layer?",
            answer=PageAnswer("starts", "StreamGrowth"),
        ),
        Stop(
            page="masks",
            view={"kind": "causal", "layer": "0", "head": "0"},
            carries=("model",),
            figure="leak",
            words="A test for every decoder: change one token, and look at the outputs before it. With a causal mask "
            "nothing may change there.",
            action="Choose the mask that is bidirectional, and look again.",
            question="By how much do outputs before the changed token differ without a mask?",
            answer=PageAnswer("leak"),
        ),
        Stop(
            page="pitfalls",
            view={"kind": "no mask"},
            carries=(),
            figure="loss",
            words="Two small models learn the same texts, one of them without its mask. It is shown what it is to "
            "predict, and its training loss looks better than it can be.",
            action="Look at the second curve: the number that shows the mistake.",
            question="What is the loss of the model without a mask once the mask is on, as in generation?",
            answer=PageAnswer("symptom"),
        ),
        Stop(
            page="pitfalls",
            view={"kind": "no scaling"},
            carries=(),
            figure="symptom",
            words="Without the division by the square root of the width, attention has chosen before anything is "
            "learned, and learns more slowly. No error is reported: one has to know which number to look at.",
            action="Go through the other mistakes of this page.",
            question="How large is the largest attention weight of a query without scaling, and with it?",
            answer=PageAnswer("symptom"),
        ),
    ),
    quiz=(
        "pre or post",
        "why residuals",
        "two n",
        "axis",
        "root",
        "mask",
        "layernorm",
        "rmsnorm",
        "writers",
        "vanishing",
        "paths",
        "block steps",
        "warm-up",
        "dropout",
    ),
)
