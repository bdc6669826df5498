"""Recipes: everything that makes a shipped model, one a file; and the list of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfcore.training import measures
from tfcore.training.ladder import SHIPPED
from tfcore.training.loop import Progress
from tfcore.training.recipes.atlas import ATLAS, atlas, of_atlas
from tfcore.training.recipes.colours import COLOURED, colours, of_colours
from tfcore.training.recipes.experts import EXPERTS, experts
from tfcore.training.recipes.fill import FILL, fill
from tfcore.training.recipes.finetuning import FINETUNING, finetuning, of_finetuning
from tfcore.training.recipes.induction import INDUCTION, induction
from tfcore.training.recipes.ladder_modernisation import MODERNISATION, modernisation
from tfcore.training.recipes.ladder_modernisation import measured as of_modernisation
from tfcore.training.recipes.ladder_positions import POSITIONS, positions
from tfcore.training.recipes.ladder_positions import measured as of_positions
from tfcore.training.recipes.ladder_scaling import SCALING, scaling
from tfcore.training.recipes.ladder_scaling import measured as of_scaling
from tfcore.training.recipes.ladder_second_wave import SECOND_WAVE, second_wave_ladder
from tfcore.training.recipes.ladder_second_wave import measured as of_second_wave
from tfcore.training.recipes.lenses import LENSES, lenses, of_lenses
from tfcore.training.recipes.mixing import MIXING, mixing, of_mixing
from tfcore.training.recipes.neurons import NEURONS, neurons
from tfcore.training.recipes.preference import PREFERENCE, of_preference, preference
from tfcore.training.recipes.quantisation import QUANTISATION, quantisation
from tfcore.training.recipes.quantisation import measured as of_quantisation
from tfcore.training.recipes.recurrence import RECURRENCE, of_recurrence, recurrence
from tfcore.training.recipes.stories import (
    STORIES,
    STORIES_LEARNED,
    STORIES_MOE,
    STORIES_SHARED,
    stories,
    stories_moe,
    stories_shared,
)
from tfcore.training.recipes.tones import TONES, of_tones, tones
from tfcore.training.recipes.transcoders import SMOLLM2_TRANSCODERS, TRANSCODERS, of_transcoders, transcoders
from tfcore.training.recipes.translate import TRANSLATE, translate_
from tfcore.training.recipes.tuned_lens import TUNED_LENS, of_tuned_lens, tuned_lens


@dataclass(frozen=True, slots=True)
class Entry:
    """A recipe by name.

    Args:
        run: (corpus, out, report, recipe) -> held-out measures.
        recipe: its settings.
        measure: (corpus) -> what the card of the shipped model says, measured again.
        makes: the model, in a few words.
        takes: how long, on two CPU cores.
        reaches: its quality.
        needs_corpus: whether training reads texts.
        measured_on_corpus: whether measuring does.
    """

    run: Callable[..., dict[str, float]]
    recipe: Any
    measure: Callable[[Path], dict[str, float]]
    makes: str
    takes: str
    reaches: str
    needs_corpus: bool = True
    measured_on_corpus: bool = True

    def start(
        self, corpus: Path | None, out: Path, report: Callable[[Progress], None], steps: int | None = None
    ) -> dict[str, float]:
        """Run it, over another number of steps where one is given."""
        recipe = self.recipe
        if steps is not None:
            recipe = replace(recipe, settings=replace(recipe.settings, steps=steps))
        return self.run(corpus, out, report, recipe)


RECIPES: dict[str, Entry] = {
    "stories": Entry(
        stories,
        STORIES,
        lambda corpus: measures.of_stories("stories", corpus),
        "a decoder trained on stories",
        "2.5 hours",
        "0.891 bits per byte, an induction head of 0.94",
    ),
    "stories-moe": Entry(
        stories_moe,
        STORIES_MOE,
        lambda corpus: measures.of_experts("stories-moe", corpus),
        "stories with eight experts per layer, two of them for a token, and a dense baseline",
        "2.5 hours",
        "0.959 bits per byte, 0.9699 without experts; each takes 11 to 14 % of the choices",
    ),
    "stories-shared": Entry(
        stories_shared,
        STORIES_SHARED,
        lambda corpus: measures.of_experts("stories-shared", corpus),
        "a smaller one whose layers have a shared expert, and a baseline without",
        "30 minutes",
        "1.061 bits per byte, 1.064 with a router for all experts; each routed one takes 10 to 19 % of the choices",
    ),
    "stories-learned": Entry(
        stories,
        STORIES_LEARNED,
        lambda corpus: measures.of_stories("stories-learned", corpus),
        "a smaller decoder, built like GPT-2: learned positions, LayerNorm, GELU",
        "10 minutes",
        "1.21 bits per byte, an induction head of 0.49",
    ),
    "induction": Entry(
        induction,
        INDUCTION,
        lambda _: measures.of_induction("induction"),
        "two attention-only layers that copy, and a film of how they learn to",
        "3 minutes",
        "0.23 nats on a second copy, an induction head of 0.90",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "translate": Entry(
        translate_,
        TRANSLATE,
        measures.of_translate,
        "an encoder-decoder that translates short sentences, English to French",
        "4 hours",
        "chrF 62, 24 % equal to the one translation kept; 64 and 25.5 % with 4 beams",
    ),
    "fill": Entry(
        fill,
        FILL,
        measures.of_fill,
        "an encoder trained on stories by masked language modelling",
        "1 hour",
        "64 % of masked tokens predicted first, 84 % among the first five",
    ),
    "colours": Entry(
        colours,
        COLOURED,
        lambda _: of_colours(),
        "a Vision Transformer with registers that names the colour of the largest shape of a drawn picture",
        "5 minutes",
        "all of 384 pictures named right",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "tones": Entry(
        tones,
        TONES,
        lambda _: of_tones(),
        "a model built like Whisper that writes down the notes of a melody",
        "2 minutes",
        "all notes of 96 % of the melodies",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "ladder-scaling": Entry(
        scaling,
        SCALING,
        lambda _: of_scaling(SHIPPED),
        "a table: six sizes with three budgets, and the law that predicts the largest",
        "40 minutes",
        "18 models; the three largest, predicted by the law of the others, are off by 1.4 % at most",
        measured_on_corpus=False,
    ),
    "ladder-modernisation": Entry(
        modernisation,
        MODERNISATION,
        lambda _: of_modernisation(SHIPPED),
        "a table: from the block of 2017 to today's, one switch at a time",
        "40 minutes",
        "27 models; RoPE takes 0.10 nats per token off, tying costs 0.06 and saves 37 % of the parameters",
        measured_on_corpus=False,
    ),
    "ladder-second-wave": Entry(
        second_wave_ladder,
        SECOND_WAVE,
        lambda _: of_second_wave(SHIPPED),
        "a table: switches of blocks after 2023 and Muon, each alone against one base",
        "15 minutes",
        "36 models of 0.41 M tokens; a gate and hyper-connections take 0.14 nats per token off, a sink 0.015, norms "
        "after cost 0.14; of a soft cap and multi-token prediction there is no difference",
        measured_on_corpus=False,
    ),
    "ladder-positions": Entry(
        positions,
        POSITIONS,
        lambda _: of_positions(SHIPPED),
        "a table: five position schemes read four times the length they were trained at",
        "1 hour",
        "10 models; at 4 times the length ALiBi loses 0.02 nats per token, RoPE 0.28, sinusoidal 0.29",
        measured_on_corpus=False,
    ),
    "quantisation": Entry(
        quantisation,
        QUANTISATION,
        lambda _: of_quantisation(SHIPPED),
        "a table: the loss of stories and smollm2 with fewer bits in weights, activations and cache",
        "20 minutes",
        "140 measurements; int4 in groups of 32 raises the loss of stories by 0.5 %",
        measured_on_corpus=False,
    ),
    "neurons": Entry(
        neurons,
        NEURONS,
        lambda _: measures.of_neurons("stories"),
        "for each neuron of stories the texts that excite it most, without any training",
        "2 minutes",
        "2,048 neurons over 421 held-out stories",
        measured_on_corpus=False,
    ),
    "experts": Entry(
        experts,
        EXPERTS,
        lambda corpus: measures.of_expert_scan("stories-moe", corpus),
        "for each expert of stories-moe the tokens it prefers, without any training",
        "1 minute",
        "32 experts over 842 held-out stories",
    ),
    "transcoders": Entry(
        transcoders,
        TRANSCODERS,
        lambda corpus: of_transcoders(TRANSCODERS, corpus),
        "sparse dictionaries of stories: a transcoder for each feed-forward layer, an autoencoder of the stream",
        "2 hours",
        "99.3 %, 96.5 %, 94.6 %, 92.4 % of the loss recovered, layer by layer; 99.1 % of the autoencoder",
    ),
    "smollm2-transcoders": Entry(
        transcoders,
        SMOLLM2_TRANSCODERS,
        lambda corpus: of_transcoders(SMOLLM2_TRANSCODERS, corpus),
        "transcoders of seven feed-forward layers of smollm2, on books, stories, sentences and what it writes itself",
        "1 hour",
        "76 to 99 % of the loss recovered, layer by layer; 0.57 to 0.93 of the variance explained",
        measured_on_corpus=False,
    ),
    "finetuning": Entry(
        finetuning,
        FINETUNING,
        lambda _: of_finetuning(),
        "a table: stories tuned on a play, all weights, the last layer or LoRA, and what it forgets, with three seeds",
        "3 minutes",
        "LoRA of rank 8: from 4.60 to 3.86-3.92 nats per token on the play, from 2.42 to 3.22-3.39 on the stories",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "preference": Entry(
        preference,
        PREFERENCE,
        lambda _: of_preference(),
        "a table: stories tuned towards three rewards, by DPO and a policy gradient, with five weights of the penalty",
        "14 minutes",
        "policy gradient: from 0.29 animals to 0.46-1.02 with beta = 1, to 4.7-18.9 with beta = 0.01",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "recurrence": Entry(
        recurrence,
        RECURRENCE,
        lambda _: of_recurrence(),
        "tables: an RNN, an LSTM and a Transformer on four tasks with three seeds, and what else is kept of recurrence",
        "8 minutes",
        "copies of ten letters: 4 %, 50 to 52 % and 100 % right; one letter: 91 to 96 %, 100 % and 12 to 100 %",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "mixing": Entry(
        mixing,
        MIXING,
        lambda _: of_mixing(),
        "tables: eight mixers and two hybrids trained to recall pairs with three seeds, four sizes of states, times",
        "10 minutes",
        "attention 65 to 100 % right, delta rule 88 to 99 %, sums 41 to 53 %; first of four layers alone 85 to 100 %",
        needs_corpus=False,
        measured_on_corpus=False,
    ),
    "tuned-lens": Entry(
        tuned_lens,
        TUNED_LENS,
        lambda corpus: of_tuned_lens(TUNED_LENS, corpus),
        "tuned lenses of stories and stories-learned: an affine translator for each state of the stream",
        "10 minutes",
        "KL to the model after block 1 of stories 0.98 nats on held-out stories, 1.95 by the logit lens",
    ),
    "smollm2-lenses": Entry(
        lenses,
        LENSES,
        lambda _: of_lenses(),
        "a Jacobian lens and a tuned lens of smollm2, for ten states of the stream",
        "1 hour",
        "KL to the model after block 11 on held-out texts 2.0 nats (tuned), 7.6 (Jacobian), 17.8 by the logit lens",
        measured_on_corpus=False,
    ),
    "atlas": Entry(
        atlas,
        ATLAS,
        lambda _: of_atlas(ATLAS),
        "what each head of stories, minilm and smollm2 does over mixed texts, without any training",
        "2 hours",
        "about 300,000 tokens of each; measures of all heads correlate by 0.93 to 1.00 with those of a sample",
        measured_on_corpus=False,
    ),
}
