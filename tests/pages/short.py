"""What is shortened where every page is visited many times: trainings, networks and measurements, not what is shown."""

from functools import partial

from tfcore.training.growing import GrowConfig

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
