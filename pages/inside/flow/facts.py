"""Facts of the page “Flow”."""

from pages.facts import Facts

FACTS = Facts(
    key="flow",
    title="Flow",
    icon="waves",
    order=10,
    question="Where does the next word come from?",
    claim="Each token is a stream through the layers, and attention carries ribbons from one to another. Widths are "
    "shares of the last state, traced back from the end: switch a head off, and see the river and the next token "
    "change.",
    answers="Where does the next word come from? A text through all layers at once; switch heads off and watch.",
    shows="one text through all layers of a model at once, as streams and ribbons traced back from the next token "
    "(information flow routes): switch a head off or turn it round with a click or a drag, read the guess after every "
    "layer, let the model write the next tokens, open folded layers, and go from any ribbon to its head",
)
