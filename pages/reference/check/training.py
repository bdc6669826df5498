"""Questions on information, losses, optimisers and scaling laws."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    Wrong,
)
from tfcore.views.reference.check.measure import training as numbers

BARS = Experiment("information", "Drag the bars and read entropy, cross-entropy and KL.")
LAB = Experiment("lab", "Train a model here and now, and change one setting.")
LAW = Experiment("scaling", "Loss against size, data and budget.")
FIRST = Experiment("normalisation", "First steps with and without warm-up.", {"part": "First steps"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="kl",
        level=1,
        look=BARS,
        ask="Which is true of KL divergence?",
        right="It is 0 only if both distributions are equal, and it is not symmetric.",
        wrong=(
            Wrong("It is symmetric, like a distance.", "Exchange the two and it changes: it is no distance."),
            Wrong("It is the entropy of the difference.", "It is cross-entropy less entropy, never negative."),
            Wrong(
                "It can be negative if Q is sharper than P.",
                "It never is (Gibbs' inequality): a wrong code never saves bits.",
            ),
        ),
        because="H(P, Q) = H(P) + KL(P || Q), and KL is at least 0.",
    ),
    ChoiceQuestion(
        name="forcing",
        level=1,
        look=LAB,
        ask="What is teacher forcing?",
        right="In training, every position is given the true tokens before it, not the model's own.",
        wrong=(
            Wrong("A larger model's answers are the targets.", "That is distillation."),
            Wrong(
                "The model is given the target at the position it predicts.",
                "That would be a leak.",
                Experiment("masks", "What a leak looks like.", {"train": "true"}),
            ),
            Wrong("The learning rate is set by hand.", "It has nothing to do with the optimiser."),
        ),
        because="So all positions are trained in one pass. In generation the model gets its own tokens (free-running).",
    ),
    ChoiceQuestion(
        name="warm-up",
        level=1,
        look=FIRST,
        ask="What is a warm-up of the learning rate for?",
        right="The first steps are small while Adam's moment estimates, and the gradients of post-LN, are unreliable.",
        wrong=(
            Wrong("To warm the cache of the accelerator.", "It changes the steps, not the machine."),
            Wrong(
                "To reach a higher rate in the end than without.",
                "The peak is a choice; the warm-up is the way there.",
                LAB,
            ),
            Wrong(
                "To keep dropout off at first.",
                "Dropout has its own setting.",
                Experiment("residuals", "What dropout does.", {"part": "Dropout"}),
            ),
        ),
        because="Large first steps can make a training diverge, most of all with post-LN (arXiv:2002.04745).",
    ),
    ChoiceQuestion(
        name="chinchilla",
        level=1,
        look=LAW,
        ask="You double your compute budget. What does the Chinchilla law say to do?",
        right="Grow the model and the data both by about the root of 2.",
        wrong=(
            Wrong(
                "Double the model, keep the data.",
                "That is nearer to the earlier law, which later measurements corrected.",
            ),
            Wrong("Keep the model, double the data.", "The model would soon be too small for what it reads."),
            Wrong(
                "Double both.",
                "Compute is the product of the two: that takes four times the budget.",
                Experiment("parameters", "Operations per token.", {"model": "GPT-3 175B"}),
            ),
        ),
        because="C = 6 N D, and the compute-optimal N and D grow alike (arXiv:2203.15556).",
    ),
    ChoiceQuestion(
        name="half precision",
        level=2,
        look=Experiment("pitfalls", "Gradients lost in float16.", {"kind": "float16, unscaled"}),
        ask="Why does training in float16 need loss scaling, and in bfloat16 not?",
        right="float16's smallest numbers are too large for many gradients; bfloat16 reaches as far down as float32.",
        wrong=(
            Wrong("bfloat16 is more precise.", "It is less precise: 8 bits of mantissa against 11."),
            Wrong("float16 sums are slower.", "Speed is the same; small numbers become 0."),
            Wrong(
                "bfloat16 uses 32 bits inside a model.",
                "It has 16 bits as well, spent on the exponent.",
                Experiment("parameters", "Both take two bytes.", {"dtype": "bf16"}),
            ),
        ),
        because="5 bits of exponent against 8: below about 6e-8 float16 knows only 0.",
    ),
    ChoiceQuestion(
        name="reward",
        level=2,
        look=Experiment("finetuning", "Samples at a small β.", {"part": "preference", "beta": "0.01"}),
        ask="A policy is tuned towards a reward with hardly any KL penalty, and the reward rises far. What should be "
        "checked?",
        right="The samples themselves, and measures that the reward does not contain: it may be gamed.",
        wrong=(
            Wrong("Nothing: the reward is what was wanted.", "It is a stand-in for what was wanted."),
            Wrong("Whether the learning rate was too small.", "The reward rose; what was given for it?"),
            Wrong("Whether the KL divergence is 0.", "It is 0 only where nothing was learned."),
        ),
        because="A high reward far from the original model is often reward hacking (arXiv:2210.10760).",
    ),
    NumberQuestion(
        name="lora",
        level=2,
        problem=numbers.lora_count,
        unit="parameters",
        look=Experiment("finetuning", "Trained numbers by rank.", {"method": "LoRA"}),
        ask="LoRA of rank {rank} stands beside a matrix from {d_in:,} to {d_out:,}. How many parameters does it train?",
        hints={
            "one of two": "That is A alone: B has r times d_out numbers.",
            "the matrix": "That is the frozen matrix; only A and B are trained.",
            "the product": "A and B stand beside the matrix: r (d_in + d_out).",
        },
        because="{rank} · ({d_in:,} + {d_out:,}) = {answer:,.0f}.",
    ),
    OrderQuestion(
        name="training steps",
        level=1,
        look=LAB,
        ask="Put one step of training in order.",
        steps=(
            "draw a batch",
            "forward pass",
            "loss against the next tokens",
            "backward pass",
            "clip the gradient",
            "optimiser step",
        ),
        because="The gradient must be there before it is clipped, and clipped before it is used.",
    ),
    NumberQuestion(
        name="coin",
        level=1,
        problem=numbers.coin_entropy,
        unit="bits",
        look=BARS,
        ask="A coin shows heads with probability {p}. What is its entropy in bits?",
        hints={
            "nats": "Those are nats: divide by ln 2.",
            "one side": "The other side counts, too.",
            "surprise": "That is the surprisal of heads; entropy is the mean over both sides.",
            "other surprise": "That is the surprisal of tails; entropy is the mean over both sides.",
        },
        because="-p log₂ p - (1 - p) log₂ (1 - p) = {answer:.3f} bits.",
    ),
    NumberQuestion(
        name="surprise",
        level=1,
        problem=numbers.surprise,
        unit="bits",
        look=BARS,
        ask="A model gave the token that came probability {p}. What is its loss in bits?",
        hints={
            "nats": "Those are nats: use the logarithm to base 2.",
            "tens": "That is the logarithm to base 10.",
            "weighted": "The loss is not weighted by p: the token did come.",
        },
        because="-log₂ {p} = {answer:.3f} bits.",
    ),
    NumberQuestion(
        name="perplexity",
        level=1,
        problem=numbers.perplexity,
        look=BARS,
        ask="A model's loss is {loss} nats per token. What is its perplexity?",
        hints={
            "bits": "That takes the loss for bits: in nats it is e to the loss.",
            "tens": "The base is e.",
            "the loss": "Perplexity is e to that.",
        },
        because="e^{loss} = {answer:.1f}: as uncertain as among that many equally likely tokens.",
    ),
    NumberQuestion(
        name="kl number",
        level=2,
        problem=numbers.divergence,
        unit="bits",
        look=BARS,
        ask="P is a coin with heads {p}, Q one with heads {q}. What is KL(P || Q) in bits?",
        hints={
            "nats": "Those are nats.",
            "other way": "That is KL(Q || P): P is the one that draws.",
            "cross": "That is the cross-entropy: take the entropy of P away.",
        },
        because="Σ P log₂ (P / Q) = {answer:.3f} bits.",
    ),
    NumberQuestion(
        name="chance",
        level=1,
        problem=numbers.chance_loss,
        unit="nats",
        look=Experiment(
            "induction",
            "The first copy of random tokens costs about that in the model induction, which was "
            "trained on nothing else; a language model is confidently wrong there, and pays more.",
            {"show": "find the heads", "model": "induction", "knock": "none"},
        ),
        ask="Before its first step, a model gives each of {vocab:,} tokens the same probability. What is its loss in "
        "nats?",
        hints={
            "bits": "Those are bits.",
            "tens": "That is the logarithm to base 10.",
            "one in V": "That is the probability.",
        },
        because="ln {vocab:,} = {answer:.2f}. A first loss far above it says that something is wrong.",
    ),
    NumberQuestion(
        name="bits a byte",
        level=2,
        problem=numbers.bits_a_byte,
        unit="bits per byte",
        look=BARS,
        ask="A loss of {loss} nats per token, with {size} bytes per token on average. How many bits per byte is that?",
        hints={
            "nats": "Those are nats per byte.",
            "a token": "Those are bits per token.",
            "times": "More bytes per token make fewer bits per byte: divide.",
        },
        because="{loss} / ln 2 / {size} = {answer:.3f}.",
    ),
    NumberQuestion(
        name="best tokens",
        level=1,
        problem=numbers.best_tokens,
        unit="tokens",
        look=LAW,
        ask="About how many tokens does the Chinchilla rule give a model of {billions:g} billion parameters?",
        hints={
            "one each": "More than one per parameter: about 20.",
            "two each": "About 20 per parameter, not 2.",
            "divided": "More tokens than parameters, not fewer.",
        },
        because="About 20 per parameter: {billions_answer:,.0f} billion (arXiv:2203.15556).",
    ),
    NumberQuestion(
        name="training work",
        level=2,
        problem=numbers.training_work,
        unit="FLOPs",
        look=LAW,
        ask="Roughly how many operations does it take to train {billions:g} billion parameters on {tokens:,g} billion "
        "tokens?",
        hints={
            "forward only": "That is the forward pass: the backward pass takes twice as much again.",
            "backward only": "The forward pass counts, too.",
            "no factor": "Each parameter costs 6 operations per token.",
        },
        because="6 N D = {answer:.2e} (arXiv:2001.08361, section 2.1).",
    ),
    NumberQuestion(
        name="training days",
        level=2,
        problem=numbers.training_days,
        unit="days",
        look=LAW,
        ask="{billions:g} billion parameters, {tokens:,g} billion tokens, {devices} accelerators of 312 TFLOP/s of "
        "which {use:.0%} are reached. How many days?",
        hints={
            "peak": "That is at the full peak; only a part of it is reached.",
            "forward only": "6 N D: that leaves out the backward pass.",
            "hours": "Those are hours.",
            "one device": "That is on one of them.",
        },
        because="6 N D over what all of them do in a day: {answer:,.1f} days.",
    ),
)
