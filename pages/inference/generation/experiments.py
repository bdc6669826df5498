"""The experiments of the page on generation."""

from tfcore import load
from tfcore.analysis.inference.beam_tree import beam_tree
from tfcore.analysis.inference.next_token import FILTERS, next_token
from tfcore.analysis.inference.speculation import Pass, acceptance, expected_tokens, watch
from tfcore.analysis.inference.strategies import Plan, continue_beside
from tfcore.analysis.inference.written import Written, mean_log_probability, repeated
from tfcore.figures.inference.beam_tree import results_figure
from tfcore.figures.inference.next_token import ranks_figure
from tfcore.figures.inference.speculation import worth_figure
from tfcore.figures.inference.strategies import likelihood_figure
from tfcore.figures.theme import Figure
from tfcore.generation.draft_models import SingleTokenTable, early_exit
from tfcore.generation.sampling import Sampling


def one_token(model_name: str, text: str, tokens: int, sampling: Sampling, seed: int, drawn: int) -> Figure:
    """One token, from the whole distribution through every filter to the draw."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[-min(tokens, model.config.max_seq_len // 2) :]
    result = next_token(model, ids, sampling, seed, drawn)
    for name, is_on, left in zip(FILTERS, result.is_on, result.left, strict=True):
        print(f"{name}: {left:,} tokens left" if is_on else f"{name}: off")
    print(f"u = {result.u:.4f} falls on {tokenizer.tokens([result.token])[0]!r}", end=", ")
    print(f"{result.probabilities[0, result.place]:.3f} by the model, {result.probabilities[-1, result.place]:.3f} now")
    print(text + tokenizer.decode([*result.before, result.token]))

    return ranks_figure(result, height=300)


def strategies(
    model_name: str, text: str, tokens: int, sampling: Sampling, seed: int, new_tokens: int, stop_ids: tuple[int, ...]
) -> Figure:
    """One text continued by several strategies: greedy, beam search, sampling with filters and without."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[-min(tokens, model.config.max_seq_len // 2) :]
    plan = Plan(ids=tuple(ids), sampling=sampling, seed=seed, tokens=new_tokens, stop_ids=stop_ids)
    texts: dict[str, list[Written]] = {"greedy": [], "beam": [], "sampling": [], "pure": []}
    for step in continue_beside(model, plan):
        if step is not None:
            texts[step[0]].append(step[1])
    for name, found in texts.items():
        new = [one.token for one in found]
        print(f"{name}: {mean_log_probability(found):.2f} nats per token, {repeated(new):.0%} of trigrams repeat")
        print("   ", tokenizer.decode(new))

    return likelihood_figure(texts, {name: name for name in texts}, new_tokens, height=300)


def beams(
    model_name: str, text: str, tokens: int, beams: int, new_tokens: int, penalty: float, stop_ids: tuple[int, ...]
) -> Figure:
    """Beam search: the most likely texts it can find, and greedy's beside them."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[-min(tokens, model.config.max_seq_len // 2) :]
    tree = beam_tree(model, ids, beams=beams, tokens=new_tokens, length_penalty=penalty, stop_ids=stop_ids)
    names = [tokenizer.decode(list(one.ids)) for one in (*tree.results, tree.greedy)]
    for one, name in zip((*tree.results, tree.greedy), names, strict=True):
        print(f"{one.score:.3f}  {name}")

    return results_figure(tree, names, height=240)


def speculative(
    model_name: str, text: str, tokens: int, blocks: int | None, guesses: int, temperature: float, new: int, seed: int
) -> Figure:
    """A draft guesses, the model checks, and the distribution stays the same (arXiv:2211.17192)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[-min(tokens, model.config.max_seq_len // 2) :]
    # The draft is made of the model: its first blocks, or what it says after each single token.
    draft = SingleTokenTable(model) if blocks is None else early_exit(model, blocks)
    steps = watch(model, draft, ids, Sampling(temperature=temperature), guesses, seed, new)
    passes = [step for step in steps if isinstance(step, Pass)]
    alpha, written = acceptance(passes), [token for one in passes for token in one.ids]
    print(tokenizer.decode(written))
    print(f"{len(written) / len(passes):.2f} tokens per pass; acceptance rate {alpha:.2f} on average")

    lines = {"tokens": [expected_tokens(alpha, n) for n in range(9)]}
    return worth_figure(lines, {"tokens": len(written) / len(passes)}, guesses, height=400)
