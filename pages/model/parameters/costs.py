"""What the page on parameters counts, kept between its runs."""

import pandas as pd

from pages.ui import cache
from pages.ui.loading.presets import NAMES
from tfcore.analysis.model import costs as analysis
from tfcore.measures import parameter_count
from tfcore.presets import PRESETS

compared = cache.data(max_entries=256)(analysis.compared)
built = cache.data(max_entries=64)(parameter_count.built_parameters)


@cache.data(max_entries=1)
def every_preset() -> pd.DataFrame:
    """All presets, a row each."""
    rows = []
    for name, label in NAMES.items():
        config = PRESETS[name]()
        found = analysis.model_costs(config)
        rows.append(
            {
                "model": label,
                "parameters": found.count.total,
                "active": found.count.active,
                "12 N d² + V d": found.formula,
                "error": found.formula_error,
                "d_model": config.d_model,
                "layers": config.encoder_layers + config.decoder_layers,
                "heads": config.n_heads,
                "KV heads": config.kv_heads,
                "GFLOPs per token": found.flops.forward / 1e9,
                "weights in bf16 (GB)": found.memory.weights / 1e9,
                "KV bytes per token": found.cached,
            }
        )
    return pd.DataFrame(rows)
