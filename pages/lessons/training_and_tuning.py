"""Training and tuning: the loss, a training, its scale, and what comes after."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="training-and-tuning",
    title="training and tuning",
    for_whom="anyone who wants to know what is learned, and what tuning changes",
    carried={"model": "stories", "text": "Once upon a time there was a little girl named Lily. She had a red ball."},
    stops=(
        Stop(
            page="information",
            view={"show": "Loss of one token"},
            carries=(),
            figure="loss",
            words="The loss of a token is minus the logarithm of the probability that the model gave it. Its gradient "
            "on the right logit is that probability less one.",
            action="Move the probability of the right token.",
            question="How large is the loss at the probability set here, and how large the gradient?",
            answer=PageAnswer("loss", "TokenLoss"),
        ),
        Stop(
            page="information",
            view={"show": "A text in bits"},
            figure="adding",
            words="The losses of all tokens add up to the length of the text as the model would write it. A better "
            "model needs fewer bits: to predict is to compress.",
            action="Find the tokens that cost most.",
            question="How many tokens make half of the bits of this text?",
            answer=PageAnswer("adding", "concentration"),
        ),
        Stop(
            page="lab",
            view={"show": "hyperparameters"},
            carries=(),
            figure="rates",
            words="A training is a loop: a batch, a loss, a gradient, a step. The learning rate says how long a step "
            "is; it rises first, and then falls.",
            action="Go to the training and start one: it takes a minute.",
            question="What is left of the highest rate after half of the steps?",
            answer=PageAnswer("rates", "RateShares"),
        ),
        Stop(
            page="recurrence",
            view={"look": "Trained side by side"},
            carries=(),
            figure="course",
            words="Three networks learn the same task with about as many parameters. What they see of the text is the "
            "same; how they look back is not.",
            action="Choose another task.",
            question="Which of the three has learned the task first?",
            answer=PageAnswer("course", "Learned"),
        ),
        Stop(
            page="scaling",
            view={"part": "Split a budget"},
            carries=(),
            figure="equal",
            words="A budget of operations can be a large model and few tokens, or a small one and many. At each "
            "budget one size is best, and the law says which.",
            action="Raise the budget, and follow the minimum.",
            question="How many tokens per parameter does the best split have?",
            answer=PageAnswer("equal", "curves"),
        ),
        Stop(
            page="scaling",
            view={"part": "Our own ladder"},
            carries=(),
            figure="rungs",
            words="A law is worth what it predicts. Small models are fitted, larger ones predicted before they are "
            "trained, and compared.",
            action="Look at the stars: they were not in the fit.",
            question="How far off was the prediction of the largest model?",
            answer=PageAnswer("rungs", "curves"),
        ),
        Stop(
            page="finetuning",
            view={"part": "Another text", "method": "lora"},
            carries=(),
            figure="new",
            words="A trained model goes on with another kind of text. LoRA trains two thin matrices beside each frozen "
            "one. What is learned here is partly forgotten there.",
            action="Compare it with tuning all weights.",
            question="How much is learned of the new text, and how much forgotten of the old?",
            answer=PageAnswer("new", "learned"),
        ),
        Stop(
            page="finetuning",
            view={"part": "A preference"},
            carries=(),
            figure="frontier",
            words="A reward instead of a text: the model is pushed towards what is preferred, and held near what it "
            "was by the KL divergence. Where it is held too loosely, it finds a way to please the reward alone.",
            action="Lower the penalty β.",
            question="How much reward is gained, and how far does the model move for it?",
            answer=PageAnswer("frontier", "reward gained"),
        ),
    ),
    quiz=(
        "kl",
        "forcing",
        "warm-up",
        "chinchilla",
        "half precision",
        "reward",
        "lora",
        "training steps",
        "coin",
        "surprise",
        "perplexity",
        "chance",
        "best tokens",
        "training work",
    ),
)
