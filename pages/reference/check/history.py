"""Questions on how it came about, and on figures that are often quoted."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    Wrong,
)
from tfcore.views.reference.check.measure import history as numbers

TIME = Experiment("history", "From 1943 to today, by family.")
QUOTED = Experiment("folklore", "Figures often quoted, computed again.")
SMALL = Experiment("parameters", "The exact count.", {"model": "GPT-2 small"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="117",
        level=1,
        look=SMALL,
        ask="GPT-2 small is often quoted with 117 million parameters. What does its checkpoint have?",
        right="124.4 million.",
        wrong=(
            Wrong("117.0 million.", "That is the figure of the report's table; the checkpoint has more."),
            Wrong("85.1 million.", "Those are the blocks alone, without embeddings."),
            Wrong("163.0 million.", "That counts the tied table twice."),
        ),
        because="124,439,808: 85.1 M in blocks and norms, 38.6 M in the token table, 0.8 M in positions.",
    ),
    ChoiceQuestion(
        name="2017",
        level=1,
        look=TIME,
        ask="What was new in “Attention is all you need” (arXiv:1706.03762)?",
        right="Attention alone carries the sequence; recurrence and convolution are gone.",
        wrong=(
            Wrong("Attention itself.", "Attention helped recurrent translators three years before (arXiv:1409.0473)."),
            Wrong(
                "Residual connections.",
                "They came from vision two years before (arXiv:1512.03385).",
                Experiment("residuals", "What they do.", {"part": "Gradients"}),
            ),
            Wrong("Training on the next word.", "Language models are far older."),
        ),
        because="The parts existed; leaving the recurrence out made training parallel over a whole text.",
    ),
    ChoiceQuestion(
        name="first kind",
        level=1,
        look=Experiment("architectures", "Which real models are which."),
        ask="Which kind of model was the first Transformer?",
        right="An encoder-decoder, for translation.",
        wrong=(
            Wrong("A decoder, like GPT.", "Decoder-only models came a year later.", TIME),
            Wrong("An encoder, like BERT.", "Encoder-only models came a year later.", TIME),
            Wrong(
                "A mixture of experts.",
                "Experts came into Transformers later (arXiv:2006.16668).",
                Experiment("parameters", "A mixture, counted.", {"model": "Mixtral 8x7B"}),
            ),
        ),
        because="English to German and French (arXiv:1706.03762, section 5).",
    ),
    ChoiceQuestion(
        name="not text",
        level=1,
        look=Experiment("tokens", "A picture as patches.", {"part": "Image"}),
        ask="How does a vision Transformer read a picture?",
        right="As a sequence of patches, each made a vector, with positions.",
        wrong=(
            Wrong(
                "Pixel by pixel, as text characters.",
                "A small photo would be 50,000 tokens, and its pairs 2.5 billion.",
                Experiment("long-context", "What such a length costs.", {"look": "Cost of length"}),
            ),
            Wrong(
                "Through a convolutional network that writes a caption.", "No caption is needed: patches are tokens."
            ),
            Wrong(
                "Only with a mask, as later patches are the future.",
                "A picture has no future: all patches see each other.",
                Experiment("masks", "No mask at all.", {"kind": "bidirectional"}),
            ),
        ),
        because="16 x 16 pixels a token (arXiv:2010.11929).",
    ),
    ChoiceQuestion(
        name="attention quadratic",
        level=2,
        look=Experiment("long-context", "Both kinds of work against length.", {"look": "Cost of length"}),
        ask="“Attention is most of the work, because it is quadratic.” For GPT-3's width and a text of 2,048 tokens, "
        "is that so?",
        right="No: the matrices of the layers take far more; the quadratic part passes them only at much longer texts.",
        wrong=(
            Wrong("Yes: n² is larger than n.", "Each of the n comes with 24 d² operations, each of the n² with 4 d."),
            Wrong(
                "Yes, but only without flash attention.",
                "Flash attention saves traffic; the work is the same.",
                Experiment("long-context", "What it saves.", {"look": "Flash attention"}),
            ),
            Wrong("They are equal at any length.", "One grows with n, the other with n²."),
        ),
        because="24 n d² against 4 n² d for each layer: equal at n = 6 d, which is 73,728 tokens.",
    ),
    OrderQuestion(
        name="timeline",
        level=1,
        look=TIME,
        ask="Put these in the order in which they appeared.",
        steps=(
            "the perceptron",
            "back-propagation made popular",
            "LSTM",
            "attention in a translator",
            "the Transformer",
            "BERT",
            "GPT-3",
        ),
        because="1958, 1986, 1997, 2014, 2017, 2018, 2020.",
    ),
    NumberQuestion(
        name="quoted",
        level=2,
        problem=numbers.quoted_count,
        unit="parameters",
        look=QUOTED,
        ask="{name} is often quoted with {quoted} parameters. Count: {layers} blocks of width {d_model}; queries and "
        "output {d_q} wide, keys and values {kv}; feed-forward layers of {matrices} matrices, {d_ff} wide.{experts} A "
        "vocabulary of {vocab:,}, the unembedding {tied} the embedding.",
        hints={"quoted": "That is the quoted figure: count.", "no embeddings": "The token table is missing."},
        because="Counted from its config: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="grown",
        level=1,
        problem=numbers.grown,
        unit="times",
        look=Experiment("history", "Model sizes over time."),
        ask="{early} has {small:,.1f} M parameters, {late} {large:,.0f} M. How many times as many is that?",
        hints={"difference": "That is the difference in millions.", "inverse": "The other way round."},
        because="{large:,.0f} / {small:,.1f} = {answer:,.1f}.",
    ),
)
