"""The logit lens."""

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import ids_of, pieces, shipped_model, tokens_of
from tfcore.measures.lenses import lens_logits, stage_names, stage_states, stages, unembedding
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, NormConfig
from tfcore.views.finding import state
from tfcore.views.inside.stream.draw.lens import lens_grid

EPS = 1e-5


def logit_lens(
    states: Float[Tensor, "stage seq d_model"],
    weight: Float[Tensor, " d_model"],
    unembed: Float[Tensor, "vocab d_model"],
    eps: float,
) -> Float[Tensor, "stage seq vocab"]:
    """The next token's probabilities, read from the residual stream after every stage.

    Each state is treated as if it were the last one: the model's final RMSNorm, then the unembedding, then a softmax
    over the vocabulary.

    Args:
        states: the stream after each stage at each position.
        weight, eps: of the final RMSNorm: x / sqrt(mean(x^2) + eps) * weight.
        unembed: one row a token.

    Returns:
        probabilities: at each stage and position.
    """
    normalised = states / (states.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return (normalised @ unembed.T).softmax(-1)


def by_tfcore(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    model = _model(weight, unembed, eps)
    return lens_logits(model, states).softmax(-1)


@torch.no_grad()
def _model(weight: Tensor, unembed: Tensor, eps: float) -> Transformer:
    """A model with this final norm and this unembedding."""
    vocab, d = unembed.shape
    config = ModelConfig(
        vocab_size=vocab,
        d_model=d,
        n_layers=1,
        attention=AttentionConfig(n_heads=1),
        norm=NormConfig(kind="rmsnorm", eps=eps),
        tie_embeddings=False,
        max_seq_len=8,
    )
    model = Transformer(config).requires_grad_(False)
    model.decoder.ln_final.weight.copy_(weight)
    model.unembed.weight.copy_(unembed)
    return model


def without_norm(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    return (states @ unembed.T).softmax(-1)


def without_weight(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    return logit_lens(states, torch.ones_like(weight), unembed, eps)


def scale_of_the_last(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    scale = (states[-1].square().mean(-1, keepdim=True) + eps).sqrt()
    return ((states / scale * weight) @ unembed.T).softmax(-1)


def with_mean(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    return logit_lens(states - states.mean(-1, keepdim=True), weight, unembed, eps)


def logits_alone(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    return lens_logits(_model(weight, unembed, eps), states)


def over_positions(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    return lens_logits(_model(weight, unembed, eps), states).softmax(1)


def last_added(states: Tensor, weight: Tensor, unembed: Tensor, eps: float) -> Tensor:
    added = torch.cat((states[:1], states.diff(dim=0)))
    return logit_lens(added, weight, unembed, eps)


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for n, seq, d, vocab in ((4, 3, 8, 12), (3, 5, 6, 6), (5, 1, 16, 20)):
        states = 2 * normal(generator, n, seq, d).cumsum(0) + 0.5
        weight, unembed = normal(generator, d) + 1, normal(generator, vocab, d) / 2
        made.append((states, weight, unembed, EPS))
    return made


def sums_to_one(call: Function, *inputs: object) -> bool:
    sums = call(*inputs).sum(-1)
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-4)


def stages_are_read_apart(call: Function, states: Tensor, *rest: object) -> bool:
    changed = states.clone()
    changed[-1] += 1
    return torch.allclose(call(changed, *rest)[:-1], call(states, *rest)[:-1], atol=1e-5)


def size_does_not_matter(call: Function, states: Tensor, *rest: object) -> bool:
    return torch.allclose(call(10 * states, *rest), call(states, *rest), atol=1e-3)


@torch.no_grad()
def draw(call: Function) -> Picture:
    (model, tokenizer), ids = shipped_model("stories"), ids_of("stories")
    norm = model.decoder.ln_final
    states = torch.stack([*stage_states(model, ids).values()])
    probabilities = call(states, norm.weight, unembedding(model), norm.eps)
    best = probabilities.max(-1)
    guesses = [tokenizer.tokens(row) for row in best.indices.T.tolist()]  # (seq, stage)
    following = torch.tensor([*ids[1:], -1])
    right = (best.indices == following).T.numpy()
    names, read = stage_names(stages(model.config)), tokens_of("stories")
    hovers = [
        [f"'{label}', read after {name}: {p:.0%}" for label, name, p in zip(tick_labels(row), names, ps, strict=True)]
        for row, ps in zip(guesses, best.values.T.tolist(), strict=True)
    ]
    chart = lens_grid(
        [tick_labels(row, 8) for row in guesses],
        best.values.T.numpy(),
        right,
        hovers,
        read,
        [*read[1:], ""],
        names,
        len(ids) - 1,
    )
    words = (
        "Top predictions of stories as the function reads them; of {n} tokens that follow, {first} are "
        "right at first, {last} last."
    )
    found = state(
        "lens", words, n=len(pieces("stories")) - 1, first=int(right[:, 0].sum()), last=int(right[:, -1].sum())
    )
    return Picture(chart, found, 720)


LOGIT_LENS = Exercise(
    solution=logit_lens,
    title="Logit lens",
    asks="What a model would predict if it stopped after each of its stages.",
    papers="Eliciting Latent Predictions from Transformers with the Tuned Lens, section 2, arXiv:2303.08112",
    formula=r"\mathrm{LogitLens}(x_\ell) = \mathrm{softmax}\!\left(\mathrm{RMSNorm}(x_\ell)\, W_U^\top\right)",
    returns=("probabilities",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("The probabilities of the vocabulary sum to 1.", "rows do not sum to 1", sums_to_one),
        ExerciseProperty(
            "Each stage is read by itself.", "a stage changes when a later one does", stages_are_read_apart
        ),
        ExerciseProperty(
            "A state ten times as large gives the same.",
            "a state ten times as large is read otherwise",
            size_does_not_matter,
        ),
    ),
    mistakes=(
        UsualMistake(without_norm, "is the final norm missing?"),
        UsualMistake(without_weight, "is the weight of the norm missing?"),
        UsualMistake(scale_of_the_last, "is every state divided by the scale of the last one? Each has its own"),
        UsualMistake(with_mean, "is the mean taken away? RMSNorm leaves it"),
        UsualMistake(logits_alone, "is the softmax missing?"),
        UsualMistake(over_positions, "softmax over the wrong axis?"),
        UsualMistake(last_added, "is it what the last stage added that is read, in place of the whole stream?"),
    ),
    hints=(
        "All stages and positions at once: the last axis is that of the features, the others stay.",
        "RMSNorm first: it is that of an earlier exercise.",
        "`normalised @ unembed.T` has a logit for each token of the vocabulary; softmax over the last axis.",
    ),
    page="stream?show=lens",
    draw=draw,
)
