"""Inside a prediction: where it can be read, which parts write it, what it needs, and from where."""

from pages.lessons.lesson import Lesson, PageAnswer, Stop

LESSON = Lesson(
    key="inside-a-prediction",
    title="inside a prediction",
    for_whom="anyone who knows what attention is, and asks which part does what",
    carried={"model": "stories", "text": "There was a little boy. One day, Sam said that"},
    stops=(
        Stop(
            page="stream",
            view={"show": "Logit lens", "by": "prediction"},
            figure="lens",
            words="The logit lens: the final norm and the unembedding, applied to the stream after each part. It "
            "shows what the model would predict if it ended there.",
            action="Click another position.",
            question="How many of the predictions are right after the embedding, and how many at the end?",
            answer=PageAnswer("lens", "lens"),
        ),
        Stop(
            page="stream",
            view={"show": "Direct logit attribution", "by": "prediction"},
            figure="sum",
            words="The stream is a sum, and the unembedding is linear but for the scale of the norm. So the logit of "
            "the prediction falls into a share for each part of the model.",
            action="Click a bar, and read below what that part writes.",
            question="Which part has the largest share in the logit?",
            answer=PageAnswer("sum", "shares"),
        ),
        Stop(
            page="interventions",
            view={"show": "Ablate and scale", "action": "zero ablation", "by": "prediction"},
            figure="board",
            words="A share is not a need: what later parts make of it counts, too. Ablation sets the output of one "
            "part to zero, runs the model again, and takes the difference.",
            action="Click a field, and see the prediction without it.",
            question="Without which part does the prediction lose most?",
            answer=PageAnswer("board", "largest effect"),
        ),
        Stop(
            page="heads",
            view={"show": "why it looks there"},
            figure="pairs",
            words="A score of attention is a sum as well: what each earlier part wrote at the query, with what each "
            "wrote at the key. It says why a head looks where it looks.",
            action="Choose another head, or another token.",
            question="Which two writers add most to the score?",
            answer=PageAnswer("why", "StrongestWriters"),
        ),
        Stop(
            page="interventions",
            view={"show": "Activation patching", "other": "There was a little girl. One day, Sam said that"},
            figure="patch",
            words="Activation patching: two texts that differ in a word. An activation of the one is put into the run "
            "of the other; where that brings the other prediction, the difference was there.",
            action="Click a field, and see the prediction with that activation.",
            question="At which token does a patch restore most, before the first block and after the last?",
            answer=PageAnswer("patch", "patched shares"),
        ),
        Stop(
            page="interventions",
            view={"show": "Input attribution", "by": "prediction"},
            figure="inputs",
            words="Back to the text: what does each token add? A gradient is quick and local, integrated gradients "
            "add up along a line, and leaving a token out is exact for that token.",
            action="Compare the three methods below.",
            question="Which token matters most, and do the three methods agree?",
            answer=PageAnswer("methods"),
        ),
        Stop(
            page="flow",
            view={"heads": "", "by": "the next token"},
            target=".tf-river svg",
            words="All of it in one picture: ribbons carry from token to token what ends in the prediction. It is a "
            "way to look at a model, and the experiments before it are the tests.",
            action="Switch off the head that the ablation named, and see what happens.",
            question="From which tokens does the prediction come, traced back to the embeddings?",
            answer=PageAnswer("river", "Story"),
        ),
    ),
    quiz=(
        "stream",
        "lens",
        "cause",
        "mean off",
        "share",
        "recovered",
        "length",
        "head pairs",
        "read sink",
        "widest",
        "model steps",
        "surprise",
    ),
)
