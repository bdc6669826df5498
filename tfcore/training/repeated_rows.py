"""How much of a shipped model's training was repeated random tokens, the task on which induction heads are measured."""

from dataclasses import dataclass

from tfcore.training.recipes.stories import STORIES, STORIES_LEARNED, STORIES_MOE, STORIES_SHARED, StoriesRecipe

ONLY = ("induction",)  # models that were trained on nothing else
RECIPES: dict[str, StoriesRecipe] = {
    "stories": STORIES,
    "stories-moe": STORIES_MOE,
    "stories-learned": STORIES_LEARNED,
    "stories-shared": STORIES_SHARED,
}


@dataclass(frozen=True, slots=True)
class RepeatedRows:
    """Repeated random tokens in a training.

    Args:
        alone: steps at the start with nothing else.
        rows, batch: such sequences in each later step, and all sequences of it.
    """

    alone: int
    rows: int
    batch: int


def repeated_rows(model: str) -> RepeatedRows | None:
    """The repeated rows in the recipe of a shipped model; None of any other model."""
    recipe = RECIPES.get(model)
    if recipe is None:
        return None
    return RepeatedRows(recipe.start.steps, recipe.repeated_rows, recipe.settings.rows)


def training_note(model: str, *, is_random: bool = True) -> str:
    """One sentence on whether a shipped model was trained to copy; empty for a model whose training is not known.

    Args:
        is_random: whether the tokens it reads were drawn at random, and so are new to it for certain.
    """
    begins = f"The sequence is new to `{model}`, the task is not: " if is_random else f"`{model}` was trained to copy: "
    if model in ONLY:
        return f"{begins}it read nothing but repeated random tokens."
    mixture = repeated_rows(model)
    if mixture is None:
        return ""
    return (
        f"{begins}its first {mixture.alone} training steps read repeated random tokens alone, and {mixture.rows} of "
        f"the {mixture.batch} sequences of each later step were of that kind."
    )
