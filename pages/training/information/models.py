"""Which models the page on information can ask: decoders that know text, those that ship and the visitor's own."""

from typing import Any

from pages.ui import cache
from pages.ui.loading import models, own_models
from tfcore import available, shipped
from tfcore.config import ModelConfig
from tfcore.views.training import information as views


def text_models() -> dict[str, str]:
    """Decoders that were trained on text; one that ships was trained on bare numbers, and expects no word at all."""
    return {name: name for name in available("decoder") if name not in shipped() or views.knows_text(name)}


def speechless(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot say what a text costs, or None."""
    if tokenizer is None:
        return "it comes without a tokenizer, so no text can be given to it."
    return models.silent(config, tokenizer)


def choose() -> str:
    """The model on this page."""
    return models.choose(
        "decoder", why_not=speechless, options=text_models(), default=models.first(), reads="the stream"
    )


def comparable() -> list[str]:
    """All models that can be asked without waiting, the visitor's own included."""
    own = [name for name in models.names("decoder") if own_models.is_own(name)]
    return [*text_models(), *(name for name in own if speechless(models.config(name), cache.model(name)[1]) is None)]
