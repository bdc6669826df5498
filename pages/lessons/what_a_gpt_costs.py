"""What a GPT costs: parameters, memory, operations, the KV cache, and fewer bits."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="what-a-gpt-costs",
    title="what a GPT costs",
    for_whom="anyone who has to pay for one, or to fit one into memory",
    carried={},
    stops=(
        Stop(
            page="parameters",
            view={"model": "gpt2_small"},
            carries=(),
            figure="parts",
            words="The parameters of a model, by part. Those of a block follow from its width alone; the embedding "
            "table follows from the vocabulary.",
            action="Choose a larger model, and see which parts grow and which stay.",
            question="Which part of the model has most of its parameters?",
            answer=PageAnswer("parts", "parameters"),
        ),
        Stop(
            page="feedforward",
            view={"panel": "Share of a block"},
            carries=(),
            figure="shares",
            words="A block is attention and a feed-forward layer. The feed-forward layer is wider, so it has the "
            "larger part of the parameters.",
            action="Choose another model of the list.",
            question="What share of a block's parameters is in its feed-forward layer?",
            answer=PageAnswer("shares", "chosen"),
        ),
        Stop(
            page="parameters",
            view={"model": "gpt2_small"},
            carries=(),
            figure="memory",
            words="To generate, a model needs its weights and a cache. To train, it needs gradients, the state of the "
            "optimiser and the activations besides.",
            action="Change the batch, and see what grows with it.",
            question="How much memory does training take, and how much generation?",
            answer=PageAnswer("memory"),
        ),
        Stop(
            page="scaling",
            view={"part": "What it costs"},
            carries=(),
            figure="days",
            words="Training takes about six operations per parameter and token: two in the forward pass, four in the "
            "backward pass. Divided by what accelerators do in a second, that is a time.",
            action="Choose another model, and other accelerators.",
            question="For how many days do these accelerators train this model?",
            answer=PageAnswer("days", "PlannedCost"),
        ),
        Stop(
            page="long-context",
            view={"look": "Cost of length"},
            carries=(),
            figure="operations",
            words="Products with weights grow with the number of tokens, attention with its square: every token is "
            "compared with every other.",
            action="Move the length, and find where the lines meet.",
            question="At which length do attention and the weights take as many operations?",
            answer=PageAnswer("operations", "Operations"),
        ),
        Stop(
            page="kv-cache",
            view={"part": "Cache size"},
            carries=(),
            figure="ways",
            words="Keys and values of all earlier tokens are kept, so that they need not be computed again. Where "
            "several query heads share one pair, the cache is smaller.",
            action="Double the tokens, and read the sizes again.",
            question="How much smaller is the cache as the model was built than with keys and values for each head?",
            answer=PageAnswer("ways"),
        ),
        Stop(
            page="kv-cache",
            view={"part": "Does it fit?"},
            carries=(),
            figure="budget",
            words="Many users at once: the weights are there once, a cache for each of them. What does not fit has to "
            "be shared, cut or written with fewer bits.",
            action="Find a setting that fits.",
            question="Which change would make it fit?",
            answer=PageAnswer("budget", "ServiceFit"),
        ),
        Stop(
            page="quantisation",
            view={"look": "One row"},
            carries=(),
            figure="row",
            words="Quantisation: weights are rounded to a few values on a grid, with one scale for a group of them. "
            "What is kept is the number on the grid, and the scale.",
            action="Take fewer bits, and see how coarse the grid becomes.",
            question="How many bits per weight does this take with its scales, and how large is the error?",
            answer=PageAnswer("row", "row"),
        ),
        Stop(
            page="quantisation",
            view={"look": "Loss"},
            carries=(),
            figure="losses",
            words="What rounding costs is the loss it adds. Smaller groups take more bits for their scales, "
            "and round less.",
            action="Choose another data type.",
            question="With how few bits does the loss stay nearly as it was?",
            answer=PageAnswer("losses", "FewestBits"),
        ),
    ),
    quiz=(
        "two thirds",
        "gqa",
        "cache",
        "ffn",
        "blocks",
        "whole",
        "tables",
        "weights in bytes",
        "training memory",
        "kv",
        "kv grouped",
        "scores",
        "longer",
        "fewer bits",
        "group size",
        "training work",
        "long limit",
        "users",
    ),
)
