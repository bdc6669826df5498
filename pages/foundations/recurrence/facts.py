"""Facts of the page “Recurrence”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="recurrence",
    title="Recurrence",
    icon="repeat",
    order=20,
    question="Why attention at all?",
    claim="A **recurrent network** reads one token after another and keeps what it read in a state of fixed size. "
    "**Attention** reaches every earlier token in one step. Here are both, with as many parameters, and the step "
    "between them.",
    answers="Why attention at all? An RNN, an LSTM and a Transformer of equal size: gradients, training and time.",
    shows="an RNN, an LSTM and a Transformer with equally many parameters: the gradient that arrives at the token d "
    "steps back, at initialisation and after training, with the product of Jacobians over it, as you change the "
    "recurrent weights and the forget gates; the three trained on the same batches, live (copying, recall of one "
    "letter, sums, a text), loss against steps and seconds, and what is recalled by distance; the time of one pass by "
    "length; an encoder-decoder with and without attention over the encoder's states, its accuracy by length and its "
    "alignment",
    sections=Sections(
        label="Look at",
        key="look",
        names={
            "gradient": "The gradient that arrives",
            "training": "Trained side by side",
            "time": "Time of one pass",
            "alignment": "Attention over an encoder",
        },
    ),
    terms={"LSTM": "", "recurrent neural network": "", "vanishing gradient": ""},
)
