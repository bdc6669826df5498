"""Questions on mixtures of experts."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    Wrong,
)
from tfcore.views.reference.check.measure import experts as numbers

ROUTES = Experiment("routing", "Which experts take each token, and with what weight.")
BALANCE = Experiment("balance", "A router without a remedy, trained live.")
MIXTRAL = Experiment("parameters", "Active beside total.", {"model": "Mixtral 8x7B"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="47",
        level=1,
        look=MIXTRAL,
        ask="Why does Mixtral 8x7B have 46.7 billion parameters, and not 8 x 7 = 56?",
        right="Only the feed-forward layers are there eight times; attention and embeddings are shared.",
        wrong=(
            Wrong(
                "One of the eight experts is shared.",
                "Mixtral shares none; DeepSeek's models do.",
                Experiment("parameters", "A mixture with shared experts.", {"model": "DeepSeekMoE 16B"}),
            ),
            Wrong("Each expert is pruned after training.", "All eight are the full width."),
            Wrong("That is what one token uses.", "A token uses 12.9 billion."),
        ),
        because="Experts stand in place of the feed-forward layer of each block, nothing else (arXiv:2401.04088).",
    ),
    ChoiceQuestion(
        name="collapse",
        level=1,
        look=BALANCE,
        ask="What tends to happen to a router that is trained without any remedy?",
        right="A few experts get most tokens, learn most, and get still more.",
        wrong=(
            Wrong("All experts become equal.", "They start alike; small differences grow."),
            Wrong(
                "It sends tokens at random for ever.",
                "It learns, and that is the trouble: it learns to prefer a few.",
                ROUTES,
            ),
            Wrong(
                "Tokens are spread by meaning, one topic an expert.",
                "Experts of shipped models follow token kinds more than topics.",
                ROUTES,
            ),
        ),
        because="Who is chosen is trained, who is trained is chosen: the rich get richer (arXiv:1701.06538, section "
        "4).",
    ),
    ChoiceQuestion(
        name="cost",
        level=1,
        look=MIXTRAL,
        ask="What does a mixture of experts save compared with a dense model of as many parameters?",
        right="Work for each token; memory for the weights is the same.",
        wrong=(
            Wrong("Memory: idle experts need not be there.", "The next token may need them: all must be loaded."),
            Wrong("Both.", "Only work is saved."),
            Wrong("Neither: all experts are computed and weighted.", "Only the chosen ones are computed.", ROUTES),
        ),
        because="Parameters in all decide memory, active parameters decide work.",
    ),
    ChoiceQuestion(
        name="aux",
        level=2,
        look=BALANCE,
        ask="In the auxiliary loss $\\alpha N \\sum_i f_i P_i$, through which factor does the gradient flow?",
        right="Through $P_i$, the mean probability; $f_i$ counts tokens and has no gradient.",
        wrong=(
            Wrong("Through $f_i$.", "A count of choices does not change with a small step: no gradient."),
            Wrong("Through both.", "Only one of them is smooth."),
            Wrong(
                "Through neither: it only measures.", "It is a loss, and pushes probability away from crowded experts."
            ),
        ),
        because="f says which experts are crowded, P is moved away from them (arXiv:2101.03961, eq. 4).",
    ),
    OrderQuestion(
        name="routing steps",
        level=1,
        look=ROUTES,
        ask="Put the way of a token through a layer of experts in order.",
        steps=(
            "router's scores",
            "softmax",
            "choose the top k",
            "run the chosen experts",
            "weighted sum",
            "add to the stream",
        ),
        because="Only the chosen experts run; their outputs are weighted by the router and added.",
    ),
    NumberQuestion(
        name="capacity",
        level=1,
        problem=numbers.capacity,
        unit="tokens",
        look=ROUTES,
        ask="{tokens:,} tokens, {experts} experts, top-{top_k}, capacity factor {factor}. How many tokens may each "
        "expert take?",
        hints={
            "one choice": "Each token goes to several experts: multiply by k.",
            "no factor": "The capacity factor is missing.",
            "all tokens": "That is for all experts together.",
        },
        because="{factor} x {top_k} x {tokens:,} / {experts} = {answer:,.0f} (arXiv:2101.03961, eq. 3).",
    ),
    NumberQuestion(
        name="gate",
        level=2,
        problem=numbers.gate,
        look=ROUTES,
        ask="A router scores four experts {scores} and takes the top 2, their weights made to sum to 1. What is the "
        "larger weight?",
        hints={
            "of all four": "That is the softmax over all four: divide by the sum of the two chosen.",
            "equal": "The weights follow the scores.",
            "the other": "That is the smaller one.",
        },
        because="The softmax of the two best scores alone: {answer:.3f} (arXiv:2401.04088, section 2.1).",
    ),
    NumberQuestion(
        name="dropped",
        level=1,
        problem=numbers.overflow,
        unit="tokens",
        look=ROUTES,
        ask="Four experts are sent {load} tokens; each has room for {room}. How many tokens are dropped?",
        hints={
            "net": "Free places elsewhere do not help: a token was sent to this expert.",
            "the fullest": "Another expert overflows as well.",
            "free places": "Those are the places left free.",
        },
        because="Count only what is above {room} at each: {answer:.0f}.",
    ),
    NumberQuestion(
        name="balance loss",
        level=2,
        problem=numbers.balance,
        look=BALANCE,
        ask="Four experts take shares {shares} of the tokens, and their mean probabilities equal these shares. What is "
        "$N \\sum_i f_i P_i$?",
        hints={
            "no N": "The factor N, the number of experts, is missing.",
            "no squares": "Shares are multiplied with probabilities before they are summed.",
            "best": "That would be the even load.",
        },
        because="4 x the sum of squares: {answer:.2f}; an even load gives 1, a single expert 4.",
    ),
    NumberQuestion(
        name="more weights",
        level=1,
        problem=numbers.work_a_token,
        unit="times",
        look=MIXTRAL,
        ask="A layer has {experts} experts of equal size, of which a token uses {top_k}. How many times as many "
        "weights do all its experts have as those that the token uses?",
        hints={
            "experts": "A token uses more than one of them.",
            "product": "Divide by k, not multiply.",
            "inverse": "That is the share that is used.",
        },
        because="{experts} / {top_k} = {answer:g}.",
    ),
)
