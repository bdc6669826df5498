"""Facts of the page “Lab”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="lab",
    title="Lab",
    icon="model_training",
    order=20,
    question="Train a model, here and now",
    claim="A small Transformer starts from random weights and learns a task from examples: watch its loss, attention "
    "and answers.",
    answers="How does a model learn? Train a small one here and now, and watch loss, attention and accuracy.",
    shows="train a small model while you watch: induction, copy, reverse, sort, sums modulo p, the characters of your "
    "text, with your model, optimiser, schedule, batch, clipping, label smoothing, dropout and seed; loss and "
    "accuracy on train and held-out, every head's attention, teacher forcing beside free-running (autoregressive); "
    "pause, one step, stop, reset; what each choice changes; runs compared, downloaded, and opened on the other pages",
    sections=Sections(
        label="See",
        key="show",
        names={"train": "the training", "changes": "hyperparameters", "compare": "runs compared"},
    ),
    terms={
        "batch size": "",
        "grokking": "",
        "held-out loss": "",
        "label smoothing": "",
        "learning rate": "",
        "memorisation": "",
        "teacher forcing": "",
    },
    live=True,
)
