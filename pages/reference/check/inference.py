"""Questions on generation, the KV cache and long context."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    Question,
    ReadingQuestion,
    Wrong,
)
from tfcore.views.reference.check.measure import inference as numbers

LARGE = Experiment("kv-cache", "The size for every published decoder.", {"part": "Cache size"})
FIT = Experiment("kv-cache", "Users and context against memory.", {"part": "Does it fit?"})
COST = Experiment("long-context", "The cost of a long context, drawn to scale.", {"look": "Cost of length"})
FLASH = Experiment("long-context", "Tile by tile, number by number.", {"look": "Flash attention"})
TOKEN = Experiment("generation", "The whole distribution, and what each filter cuts.", {"show": "Sampling a token"})
OUTLIERS = Experiment("quantisation", "One large channel, and the grid of all others.", {"look": "Outliers"})
GROUPS = Experiment("quantisation", "The grid of every group.", {"look": "One row"})
DRAFT = Experiment("generation", "Each draft token accepted or rejected.", {"show": "Speculative decoding"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="group size",
        level=2,
        look=GROUPS,
        ask="Weights are stored as int4. What do groups of 32 with one scale each gain over one scale per row?",
        right="A large weight makes the grid coarse for its group alone, at half a bit more per weight.",
        wrong=(
            Wrong("Less memory: the scales are shared.", "There are more scales, so a little more memory."),
            Wrong(
                "A finer grid for every weight: more than 16 levels.", "A group has as many levels; they lie closer."
            ),
            Wrong(
                "Nothing, if the bits are the same.", "The error depends on the largest weight that shares the scale."
            ),
        ),
        because="The largest magnitude of whatever shares a scale sets the step between levels for all of it.",
    ),
    ChoiceQuestion(
        name="outlier activations",
        level=2,
        look=OUTLIERS,
        ask="Activations in int8 with one scale for the whole text raise the loss of smollm2 a great deal. What "
        "repairs it?",
        right="A scale for each token, or the outlier channels kept in more bits.",
        wrong=(
            Wrong(
                "Smaller weights: activations then stay small.",
                "The scale of a matrix can be moved into its input, but the one large channel stays one.",
            ),
            Wrong("A minimum beside the scale.", "The outlier stretches the range either way."),
            Wrong("More training data.", "Outliers are there in models trained on very much of it."),
        ),
        because="One value far larger than all others sets the step; apart from it, or token by token, the rest fits.",
    ),
    ChoiceQuestion(
        name="long limit",
        level=1,
        look=FIT,
        ask="What limits a decoder first when 100,000 tokens are to be served to many users?",
        right="The memory for the KV cache, of which every user needs one.",
        wrong=(
            Wrong(
                "The weights: they grow with the context.",
                "Weights are the same for any context, and shared by all users.",
                Experiment("parameters", "Weights and cache, side by side.", {"seq": "32768", "model": "LLaMA 2 7B"}),
            ),
            Wrong("The score matrix, which must be kept whole.", "Computed in tiles, it never is.", FLASH),
            Wrong("The vocabulary: more tokens need more ids.", "A long context uses the same ids more often."),
        ),
        because="2 x layers x KV heads x width x tokens x bytes, once for each user; the weights are there once for "
        "all.",
    ),
    ChoiceQuestion(
        name="cache",
        level=1,
        look=Experiment("kv-cache", "Both, measured as they run.", {"part": "With and without"}),
        ask="Why may keys and values of earlier tokens be cached during generation?",
        right="Under a causal mask, nothing that comes later can change them.",
        wrong=(
            Wrong(
                "They change little, so old ones are good enough.",
                "They do not change at all: the logits are equal.",
                Experiment("kv-cache", "Only rounding is left.", {"part": "With and without", "exact": "float64"}),
            ),
            Wrong("They are the same for all texts.", "They depend on every token before them."),
            Wrong("The model was trained with a cache.", "Training reads all at once; the cache is arithmetic."),
        ),
        because="Each position depends on itself and what came before, so its keys and values are final.",
    ),
    ChoiceQuestion(
        name="temperature",
        level=1,
        look=TOKEN,
        ask="What does a temperature of 0.5 do to the next-token distribution?",
        right="It sharpens it: ratios between probabilities are squared.",
        wrong=(
            Wrong("It halves every probability.", "They always sum to 1."),
            Wrong(
                "It flattens it: more variety.",
                "Below 1 sharpens, above 1 flattens.",
                Experiment("generation", "The same at 1.8.", {"temperature": "1.8"}),
            ),
            Wrong(
                "It keeps the likelier half of the tokens.",
                "That would be a filter such as top-k; temperature cuts none.",
                Experiment("generation", "What top-k cuts.", {"top_k": "3"}),
            ),
        ),
        because="softmax(x / T): each ratio becomes its power 1/T, here the square.",
    ),
    ChoiceQuestion(
        name="flash",
        level=2,
        look=FLASH,
        ask="What does flash attention save?",
        right="Memory traffic: scores never leave the fast SRAM. The result is exact.",
        wrong=(
            Wrong(
                "Operations: it skips small weights.",
                "It skips only what a mask hides, and rescales besides.",
                Experiment("long-context", "What skipping looks like.", {"look": "Sparse patterns"}),
            ),
            Wrong("Precision: it approximates the softmax.", "The online softmax is exact up to rounding."),
            Wrong("The n²: it is linear in length.", "Work stays quadratic; memory becomes linear.", COST),
        ),
        because="Tiles, a running maximum and a running sum (arXiv:2205.14135).",
    ),
    ChoiceQuestion(
        name="speculative",
        level=2,
        look=DRAFT,
        ask="In speculative decoding a small draft model proposes tokens and the large one verifies them. What does "
        "that do to the distribution of the text?",
        right="Nothing: the distribution is that of the large model.",
        wrong=(
            Wrong("It is a mixture of both models.", "What is drawn after a rejection makes the mixture cancel out."),
            Wrong("It is worse where the draft is bad.", "A bad draft only makes it slower."),
            Wrong(
                "It is that of the draft, which the large one approves.",
                "Acceptance is random, with just the right probability.",
            ),
        ),
        because="Accept with min(1, p/q), otherwise sample the residual max(0, p - q): exactly p (arXiv:2211.17192, "
        "appendix A.1).",
    ),
    ReadingQuestion(
        name="read next",
        level=1,
        figure="next",
        look=Experiment("generation", "The whole distribution of any text.", {"show": "Sampling a token"}),
        ask="The shipped model has read “{text}”. Its five likeliest next tokens are below. Sampling at temperature 1 "
        "without filters, how often would one of the two likeliest be drawn, out of 100 times?",
        because="The two bars add up: {score:.1%}.",
    ),
    NumberQuestion(
        name="kv",
        level=1,
        problem=numbers.cache_of_a_text,
        unit="GB",
        look=LARGE,
        ask="{layers} layers, {heads} heads of width {d_head}, multi-head attention, {tokens:,} tokens, 16-bit values. "
        "How large is the KV cache?",
        hints={
            "keys or values": "The factor 2 is missing: keys and values are both kept.",
            "one layer": "That is one layer.",
            "one head": "That is one head.",
            "four bytes": "16 bits are two bytes, not four.",
            "bits": "Those are bits: divide by 8.",
        },
        because="2 x {layers} x {heads} x {d_head} x {tokens:,} x 2 bytes = {gb:,.2f} GB, which is {gib:,.2f} GiB.",
    ),
    NumberQuestion(
        name="kv grouped",
        level=2,
        problem=numbers.cache_grouped,
        unit="GB",
        look=LARGE,
        ask="{layers} layers, {heads} query heads of width {d_head} that share {groups} KV heads, {tokens:,} tokens, "
        "16-bit values, batch size {users}. How large is the whole KV cache?",
        hints={
            "query heads": "Only the KV heads are cached, not one for each query head.",
            "keys or values": "The factor 2 is missing: keys and values are both kept.",
            "one group": "That is a single KV head.",
            "one user": "That is one sequence.",
        },
        because="2 x {layers} x {groups} x {d_head} x {tokens:,} x 2 bytes x {users} = {gb:,.2f} GB.",
    ),
    NumberQuestion(
        name="users",
        level=2,
        problem=numbers.users_that_fit,
        unit="users",
        look=FIT,
        ask="A GPU sold as {room} GB has {room} GiB, the weights take {weights} GiB, and the KV cache of one user "
        "{each} GiB. How many users fit?",
        hints={
            "no weights": "The weights need their room, too.",
            "one more": "The last one does not fit whole: round down.",
        },
        because="({room} - {weights}) / {each}, rounded down: {answer:.0f}.",
    ),
    NumberQuestion(
        name="scores",
        level=1,
        problem=numbers.score_bytes,
        unit="GB",
        look=COST,
        ask="Attention without tiling stores every score. {n:,} tokens, {heads} heads, 16 bits: how much is that in "
        "one layer?",
        hints={
            "one head": "That is one head.",
            "four bytes": "16 bits are two bytes.",
            "numbers": "Each score takes two bytes.",
            "bits": "Those are bits: divide by 8.",
        },
        because="{n:,}² = {cells:,} scores per head, x {heads} x 2 bytes = {gb:,.2f} GB.",
    ),
    NumberQuestion(
        name="longer",
        level=1,
        problem=numbers.longer_text,
        unit="times",
        look=COST,
        ask="A text grows from {n:,} to {longer:,} tokens. How many times as many attention scores is that?",
        hints={
            "linear": "Every query attends to every key: the square of that.",
            "doubled": "Not twice, but the square.",
            "cubed": "Pairs, not triples: the square.",
        },
        because="({longer:,} / {n:,})² = {answer:.0f}.",
    ),
    NumberQuestion(
        name="two tokens",
        level=1,
        problem=numbers.warmed,
        look=TOKEN,
        ask="Only two tokens are possible; the first has a score {gap} higher. What is its probability at temperature "
        "{t}?",
        hints={
            "not at all": "That is at temperature 1: divide the scores by T first.",
            "times": "Divide by the temperature, not multiply.",
            "other": "That is the other token.",
        },
        because="1 / (1 + e^(-{gap} / {t})) = {answer:.3f}.",
    ),
    NumberQuestion(
        name="top p",
        level=1,
        problem=numbers.nucleus,
        unit="tokens",
        look=Experiment("generation", "Move top-p.", {"top_p": "0.7"}),
        ask="Six tokens have probabilities {chances}. How many does top-p with p = {p} keep?",
        hints={
            "one fewer": "Their sum must reach p: the one that crosses it stays.",
            "all": "It stops once the sum reaches p.",
        },
        because="The fewest whose sum is at least {p}: {answer:.0f} (arXiv:1904.09751).",
    ),
    NumberQuestion(
        name="drafts",
        level=2,
        problem=numbers.guessed_ahead,
        unit="tokens",
        look=DRAFT,
        ask="Draft length {guess}, each draft token accepted with probability {alpha} until the first rejection. How "
        "many tokens does one pass of the large model bring, on average?",
        hints={
            "no breaks": "The first rejection ends it: later draft tokens are lost.",
            "only guesses": "The large model always adds one of its own.",
            "all": "That is if none were rejected.",
        },
        because="(1 - α^(γ+1)) / (1 - α) = {answer:.2f} (arXiv:2211.17192, eq. 1).",
    ),
    NumberQuestion(
        name="fewer bits",
        level=1,
        problem=numbers.quantised,
        unit="GB",
        look=LARGE,
        ask="A KV cache takes {size} GB in float16. What does it take in {precision}?",
        hints={
            "from 32 bits": "float16 has 16 bits, not 32.",
            "the other": "int8 is half of 16 bits, int4 a quarter.",
            "unchanged": "That is unchanged: fewer bits take less.",
        },
        because="In the ratio of the bits: {gb:.2f} GB, scales aside.",
    ),
)
