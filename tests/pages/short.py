"""What is shortened in tests of pages: trainings, networks and measurements, not what is shown."""

from functools import partial

from tfcore.training.growing import GrowConfig

# Everywhere: what a model learns in more steps is tested elsewhere, and attention is timed on short texts only.
ALWAYS: dict[str, object] = {
    "tfcore.views.foundations.positions.measure.learned.STEPS": 20,
    "tfcore.views.experts.balance.measure.ROWS": 2,
    "tfcore.views.experts.balance.measure.SEQ": 12,
    "tfcore.views.experts.balance.measure.HELD_OUT": 2,
    "tfcore.views.inference.long_context.measure.timing.LENGTHS": (128, 256),
    "tfcore.views.inference.long_context.measure.timing.REPEATS": 1,
    "pages.inference.kv_cache.choices.STEPS": 16,
    "pages.inference.kv_cache.choices.MOST": 24,
}
# Where every page is visited many times.
SHORT: dict[str, object] = {
    "pages.foundations.masks.without_mask.STEPS": 4,
    "tfcore.training.recurrent.alignment.TESTED": 2,
    "tfcore.training.recurrent.side_by_side.HELD_ROWS": 16,
    "tfcore.training.mixing.comparison.HELD_ROWS": 16,
    "tfcore.training.mixing.lengths.REPEATS": 1,
    "tfcore.training.mixing.lengths.LENGTHS": (64, 128),
    "pages.inside.induction.grow.GrowConfig": partial(GrowConfig, rows=2),
    "tfcore.training.growing.EVERY": 50,
    "tfcore.training.growing.MEASURED_ROWS": 2,
    "tfcore.training.growing_dictionaries.ROWS": 2,
    "tfcore.training.growing_dictionaries.HELD_OUT": 4,
    "tfcore.training.growing_dictionaries.NAMED_ON": 8,
    "tfcore.training.pitfalls.ROWS": 2,
    "tfcore.training.pitfalls.SEQ": 8,
    "tfcore.training.pitfalls.LETTERS_SAID": 4,
    "tfcore.measures.deep_networks.D_MODEL": 8,
    "tfcore.views.block.normalisation.measure.early_training.RUN_STEPS": 4,
    "tfcore.views.model.modern.measure.SPEED": {
        "d_model": 16,
        "n_layers": 4,
        "n_heads": 4,
        "vocab_size": 20,
        "max_seq_len": 256,
    },
    "tfcore.views.model.modern.measure.ROUNDS": 1,
    "tfcore.training.finetuning.ROWS": 2,
    "tfcore.training.finetuning.SEQ": 8,
    "tfcore.training.finetuning.WRITTEN": 2,
    "tfcore.training.preference.NEW": 2,
    "tfcore.training.preference.ROWS": 4,
    "tfcore.training.preference.DRAWN": 64,
    "tfcore.training.preference.MEASURED": 4,
}
