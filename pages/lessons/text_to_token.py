"""From text to next token: the whole way, once through. It has the stops of the tour of earlier releases."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="text-to-token",
    title="from text to next token",
    for_whom="everybody, as a first look",
    carried={"model": "stories", "text": "Sam was a little boy. One day, Sam said that"},
    stops=(
        Stop(
            tour=1,
            page="flow",
            view={"heads": ""},
            target=".tf-river svg",
            words="Each golden stream is a token on its way through the layers, and each ribbon is what a head carries "
            "from one token to another. At the end are the next tokens.",
            action="Click one of the dots at a layer: that head is off. Click it again to have it back.",
            question="From which earlier token does the widest ribbon come?",
            answer=PageAnswer("river", "Story"),
        ),
        Stop(
            tour=2,
            page="tokens",
            view={"part": "text"},
            target=".st-key-chips-tokens-chips, .st-key-text",
            words="A model reads tokens, not letters: frequent words stay whole, and rare ones fall into several "
            "pieces. The number of each token is all that the model is given.",
            action="Put a long, rare word into the text.",
            question="How many characters does a token of this text have on average? And of another script?",
            answer=PageAnswer("density"),
        ),
        Stop(
            page="tokens",
            view={"part": "embeddings", "piece": " dog"},
            carries=("model",),
            figure="neighbours",
            words="The number of a token is a row of the embedding table: there it becomes a vector. Tokens that are "
            "used alike have learned rows that point the same way.",
            action="Type another token, and read its neighbours.",
            question="Which tokens have rows that are nearest to the row of this one?",
            answer=PageAnswer("neighbours"),
        ),
        Stop(
            tour=3,
            page="heads",
            view={"show": "every head", "layer": "2", "head": "5"},
            target=".st-key-closer-figure, .st-key-mosaic-figure",
            words="One attention head: each row is a token that reads, each column a token that it may read. A row "
            "sums to 1, and nothing right of the diagonal is read.",
            action="Click another tile: another head reads something else.",
            question="To which token does the token read here attend most, and with what weight?",
            answer=PageAnswer("closer", "StrongestKey"),
        ),
        Stop(
            tour=4,
            page="masks",
            view={"kind": "causal", "layer": "2", "head": "5"},
            target=".st-key-mask-figure",
            words="The grey half is blocked: a causal mask keeps each token from attending to later ones. Otherwise "
            "the model would be shown what it is to predict.",
            action="Choose another mask, and see what becomes visible.",
            question="What share of all pairs of tokens does this mask allow?",
            answer=PageAnswer("mask"),
        ),
        Stop(
            tour=5,
            page="stream",
            view={"show": "Logit lens"},
            target=".st-key-lens-figure",
            words="The logit lens: the stream after each part of the model, read as if it were the last. In each row "
            "a prediction takes shape from left to right.",
            action="Follow the last row to the end: that is what the model predicts.",
            question="After which part does the final prediction come first?",
            answer=PageAnswer("climb", "ProbabilityByStage"),
        ),
        Stop(
            tour=6,
            page="interventions",
            view={"show": "Ablate and scale", "action": "zero ablation"},
            target=".st-key-board-figure",
            words="Each field is a head or a feed-forward layer, and its number is what the prediction loses without "
            "it. Many do next to nothing on one text, and a few decide.",
            action="Click a field with a strong colour, and read the bars of the next token.",
            question="How many of the parts change the prediction by almost nothing?",
            answer=PageAnswer("board"),
        ),
        Stop(
            page="generation",
            view={"show": "Sampling a token", "temperature": "1.0"},
            figure="filters",
            words="The last vector becomes a probability for every token there is, and one of them is drawn. The "
            "temperature makes the choice surer or freer, and filters cut off what is unlikely.",
            action="Lower the temperature, and see how few are left.",
            question="How many tokens does each filter leave, and how likely was the one that was drawn?",
            answer=PageAnswer("filters"),
        ),
        Stop(
            tour=7,
            page="flow",
            view={"heads": ""},
            target=".tf-river svg, .st-key-write-button",
            words="The river again: the heads that decide have the largest dots, and the words along the stream of "
            "the last token are the logit lens. A text is written by doing all this once for each token.",
            action="Press the button three times, and watch the river flow on.",
            question="What will the model write next, and where will the widest ribbon come from?",
            answer=PageAnswer("river", "Story"),
        ),
    ),
    quiz=(
        "model steps",
        "bytes",
        "mask",
        "temperature",
        "stream",
        "lens",
        "softmax",
        "pairs",
        "tables",
        "surprise",
        "read next",
        "two tokens",
        "top p",
        "cause",
        "whole",
        "longer",
    ),
)
