"""In-context learning and induction: copying heads, how they are built and when they form, and tasks in a prompt."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="in-context-and-induction",
    title="in-context learning and induction",
    for_whom="anyone who wonders how a model learns from its own prompt",
    carried={"model": "stories"},
    stops=(
        Stop(
            page="induction",
            view={"show": "find the heads", "text_is": "random"},
            figure="grid",
            words="Random tokens, repeated once. No knowledge of language helps here: whoever predicts the second copy "
            "has to look up what followed the first time. A head that does is an induction head.",
            action="Click the strongest field.",
            question="Which heads look most at the token after an earlier occurrence?",
            answer=PageAnswer("grid", "highest scores"),
        ),
        Stop(
            page="induction",
            view={"show": "find the heads", "text_is": "random", "knock": "induction"},
            figure="losses",
            words="The loss of each token: high on the first copy, low on the second. Without the induction heads the "
            "second copy is hard again.",
            action="Ablate other heads instead.",
            question="What is the loss on the second copy with these heads, and without them?",
            answer=PageAnswer("losses", "CopyLosses"),
        ),
        Stop(
            page="induction",
            view={"show": "the induction circuit"},
            figure="doors",
            words="It takes two heads. One writes at each token which token came before it; the induction head reads "
            "that in its keys, and finds the place. Path patching replaces its queries, its keys or its values alone.",
            action="Compare queries, keys and values.",
            question="Through which of the three does the induction head need the heads below?",
            answer=PageAnswer("doors", "patched losses"),
        ),
        Stop(
            page="induction",
            view={"show": "the induction circuit"},
            figure="tests",
            words="Two tests make a head an induction head: it attends to the token after an earlier occurrence "
            "(prefix matching), and it raises the logit of what it attends to (copying).",
            action="Look at both axes: a head can pass one test and fail the other.",
            question="Which head is best at prefix matching, and does it copy?",
            answer=PageAnswer("tests", "BestInductionHead"),
        ),
        Stop(
            page="induction",
            view={"show": "the phase change"},
            carries=(),
            figure="course",
            words="A film of a training. The loss of the second copy falls within a few steps, when the two heads "
            "have found each other: a phase change.",
            action="Move the step through the shaded part.",
            question="Between which steps does the loss of the second copy fall?",
            answer=PageAnswer("course", "MomentLosses"),
        ),
        Stop(
            page="in-context",
            view={"show": "Examples in the prompt"},
            carries=(),
            figure="accuracy",
            words="Examples of a task in the prompt, and no training: the weights stay as they are. The curve says how "
            "often the answer to a new example is right.",
            action="Choose random labels, and compare the curves.",
            question="How often is the answer right with examples, and how often without any?",
            answer=PageAnswer("accuracy", "Accuracy"),
        ),
        Stop(
            page="in-context",
            view={"show": "Which heads carry it"},
            carries=(),
            figure="heads",
            words="Are induction heads behind it? Each dot is a head: what the right answer loses without it, against "
            "its induction score.",
            action="Choose another task.",
            question="Are the heads that matter here those with the highest induction scores?",
            answer=PageAnswer("heads", "HeadsAgree"),
        ),
    ),
    quiz=(
        "induction",
        "jump",
        "examples",
        "random labels",
        "read induction",
        "copied",
        "head pairs",
        "mean off",
        "read previous",
        "order",
        "recovered",
        "widest",
    ),
)
