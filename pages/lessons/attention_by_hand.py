"""Attention by hand: scores, their scale, weights, the mask, heads and positions, each computed once."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="attention-by-hand",
    title="attention by hand",
    for_whom="anyone who wants to compute each step once",
    carried={"model": "stories", "text": "The king and the queen had a cat and a dog. The dog was happy."},
    stops=(
        Stop(
            page="attention",
            view={"look": "Drag four tokens"},
            carries=(),
            figure="steps",
            words="Attention from left to right: products of queries and keys, the same divided by the square root of "
            "the width, the softmax of each row, and the weighted sums of the values.",
            action="Drag a query in the plane towards another key, and follow its row through the matrices.",
            question="To which token does the token chosen here attend most?",
            answer=PageAnswer("points", "Attended"),
        ),
        Stop(
            page="attention",
            view={"look": "Words of a text"},
            figure="scores",
            words="The same for a real head: every token of a text as a query against every token as a key. Queries "
            "and keys have matrices of their own, so the map need not be symmetric.",
            action="Choose another head.",
            question="Do two tokens get the same score when query and key change places?",
            answer=PageAnswer("scores", "scores"),
        ),
        Stop(
            page="attention",
            view={"look": "Why the square root"},
            carries=(),
            target='[class*="st-key-products-False"]',
            words="A product of two vectors is a sum with a term for each dimension. Where the terms are independent, "
            "with mean 0 and variance 1, their variances add up.",
            action="Move the width, and read the variance.",
            question="What is the variance of q · k at the width set here?",
            answer=PageAnswer("products False"),
        ),
        Stop(
            page="attention",
            view={"look": "Softmax and its gradient"},
            carries=(),
            figure="gradient",
            words="Large scores make the softmax choose one key, and where it has chosen, its slope is small: little "
            "gradient comes back to queries and keys. Dividing by the square root of the width keeps it from that.",
            action="Raise the width, and compare the two curves.",
            question="How large is the largest weight without the division, and how large with it?",
            answer=PageAnswer("largest"),
        ),
        Stop(
            page="attention",
            view={"look": "Temperature"},
            carries=(),
            figure="temperature",
            words="Dividing all scores by one number is a temperature. A low one makes the largest score win, a high "
            "one makes all weights alike; the order never changes.",
            action="Move the temperature until all weights are nearly alike.",
            question="What weights does the softmax give to these three scores?",
            answer=PageAnswer("temperature", "SoftmaxWeights"),
        ),
        Stop(
            page="masks",
            view={"kind": "causal", "layer": "0", "head": "0"},
            figure="Weights after the mask",
            words="A causal mask sets the scores of later keys to minus infinity before the softmax. Their weights "
            "become exactly 0, and the others grow, because a row still sums to 1.",
            action="Compare this map with the one before the mask.",
            question="By how much does what is left of a row grow?",
            answer=PageAnswer("Weights after the mask"),
        ),
        Stop(
            page="heads",
            view={"show": "how heads are cut", "layer": "0", "head": "0"},
            figure="product",
            words="Several heads are one matrix product, cut into pieces: each head has its own part of the queries, "
            "keys and values, and its own softmax.",
            action="Choose another number of heads below.",
            question="Which numbers change when the product is cut into heads?",
            answer=PageAnswer("product", "reshape"),
        ),
        Stop(
            page="positions",
            view={"scheme": "None"},
            carries=(),
            figure="outputs",
            words="Attention alone takes a set: it has no way to know which token came first. That is why positions "
            "are added, or queries and keys are rotated by them.",
            action="Choose another scheme, and shuffle again.",
            question="Without positions, how much do the outputs differ when the tokens are shuffled?",
            answer=PageAnswer("outputs", "change"),
        ),
    ),
    quiz=(
        "attention steps",
        "root",
        "order",
        "mask",
        "heads",
        "rope",
        "softmax",
        "spread",
        "pairs",
        "window",
        "alibi",
        "read previous",
        "read sink",
        "widest",
    ),
)
