"""Which model with sparse dictionaries a page shows."""

from typing import Any

from pages.ui.loading import models
from tfcore.config import ModelConfig
from tfcore.loading.transcoders import with_transcoders


def there() -> list[str]:
    """Names of the models that have dictionaries and are there."""
    return [name for name in models.fitting("decoder") if name in with_transcoders()]


def choose(key: str = "model") -> str:
    """A select of those models."""
    return models.choose("decoder", key=key, options={name: name for name in there()}, why_not=_has_none)


def _has_none(_: ModelConfig, __: Any) -> str:
    """Why a model that is not on the list cannot be shown."""
    listed = " and ".join(with_transcoders())
    return f"the features shown here are those of trained dictionaries, which {listed} have and no other model."
