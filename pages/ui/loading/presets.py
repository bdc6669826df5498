"""Published models by the names people know them by, and those that ship with the app."""

from pages.ui import cache
from pages.ui.loading import models, own_models
from tfcore import available, presets, shipped
from tfcore.config import ModelConfig
from tfcore.presets import NAMES


def all_names() -> dict[str, str]:
    """Key -> label of everything that can be counted without sliders."""
    own = {name: name for name in models.names() if own_models.is_own(name)}
    ours = {name: f"{name} (ours)" if name in shipped() else name for name in available()}
    return NAMES | ours | own


def known(name: str) -> ModelConfig:
    """The config of a preset or of a model that is loaded."""
    if name in presets.PRESETS:
        return presets.PRESETS[name]()
    config: ModelConfig = cache.model(name)[0].config
    return config
