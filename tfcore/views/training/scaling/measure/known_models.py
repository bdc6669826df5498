"""Published language models: how many parameters, on how many tokens, and who says so."""

import re
from dataclasses import dataclass
from typing import Literal

from tfcore.views.training.scaling.measure.compute_budget import PER_TOKEN

Kind = Literal["recurrent", "dense", "mixture"]


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model as its makers describe it.

    Args:
        kind: a recurrent network, a Transformer, or a Transformer with a mixture of experts.
        parameters: all of them.
        tokens: of text seen in training, repeats included; None where the source does not say.
        source: the paper, or who else says so.
        active: parameters that compute each token; all of them but in a mixture of experts.
        when: the year as a number, for sources that carry no date.
    """

    name: str
    kind: Kind
    parameters: float
    tokens: float | None
    source: str
    active: float | None = None
    when: float | None = None

    @property
    def year(self) -> float:
        """The year in which it was published: the middle of the month that the arXiv id carries."""
        if self.when is not None:
            return self.when
        match = re.search(r"arXiv:(\d\d)(\d\d)\.", self.source)
        if match is None:
            raise ValueError(f"{self.name}: the source {self.source!r} carries no date; give when=")
        return 2000 + int(match[1]) + (int(match[2]) - 0.5) / 12

    @property
    def used(self) -> float:
        """Parameters that compute each token: the N of C = 6 N D."""
        return self.parameters if self.active is None else self.active

    @property
    def ratio(self) -> float | None:
        """Tokens per parameter used."""
        return None if self.tokens is None else self.tokens / self.used

    @property
    def flops(self) -> float | None:
        """Operations of training, 6 N D."""
        return None if self.tokens is None else PER_TOKEN * self.used * self.tokens


def _models(kind: Kind, *rows: tuple[object, ...]) -> list[KnownModel]:
    return [KnownModel(row[0], kind, *row[1:]) for row in rows]  # type: ignore[arg-type]


M, B, T = 1e6, 1e9, 1e12
# As the source rounds them. Tokens are left out where it counts epochs, words or bytes instead, and of T5, an
# encoder-decoder, whose tokens pass through half of the model only.
MODELS: list[KnownModel] = [
    *_models(
        "recurrent",
        ("LSTM of Graves", 21.3 * M, None, "arXiv:1308.0850"),
        ("LSTM seq2seq", 384 * M, None, "arXiv:1409.3215"),
        ("LSTM-Char, small", 5 * M, None, "arXiv:1508.06615"),
        ("LSTM-Char, large", 19 * M, None, "arXiv:1508.06615"),
        ("Big LSTM + CNN", 1.04 * B, None, "arXiv:1602.02410"),
        ("LSTM with experts", 137 * B, None, "arXiv:1701.06538"),
        ("AWD-LSTM", 24 * M, None, "arXiv:1708.02182"),
    ),
    *_models(
        "dense",
        ("Transformer base", 65 * M, None, "arXiv:1706.03762"),
        ("Transformer big", 213 * M, None, "arXiv:1706.03762"),
        ("BERT base", 110 * M, None, "arXiv:1810.04805"),
        ("BERT large", 340 * M, None, "arXiv:1810.04805"),
        ("GPT-2 XL", 1.558 * B, None, "Radford et al. 2019, its checkpoint", None, 2019.12),
        ("Megatron-LM", 8.3 * B, None, "arXiv:1909.08053"),
        ("T5 11B", 11 * B, None, "arXiv:1910.10683"),
        ("GPT-3", 175 * B, 300 * B, "arXiv:2005.14165"),
        ("GPT-J", 6.05 * B, 402 * B, "its model card", None, 2021.45),
        ("Gopher", 280 * B, 300 * B, "arXiv:2112.11446"),
        ("MT-NLG", 530 * B, 270 * B, "arXiv:2201.11990"),
        ("Chinchilla", 70 * B, 1.4 * T, "arXiv:2203.15556"),
        ("PaLM", 540 * B, 780 * B, "arXiv:2204.02311"),
        ("GPT-NeoX", 20.6 * B, 472 * B, "arXiv:2204.06745 (150,000 steps of 3.15 M tokens)"),
        ("OPT", 175 * B, 300 * B, "arXiv:2205.01068 (300 B by its schedule, of a corpus of 180 B)"),
        ("BLOOM", 176 * B, 366 * B, "arXiv:2211.05100"),
        ("Galactica", 120 * B, 450 * B, "arXiv:2211.09085"),
        ("LLaMA 7B", 6.7 * B, 1.0 * T, "arXiv:2302.13971"),
        ("LLaMA 65B", 65.2 * B, 1.4 * T, "arXiv:2302.13971"),
        ("TinyStories 1M", 1 * M, None, "arXiv:2305.07759"),
        ("Pythia 70M", 70 * M, 300 * B, "arXiv:2304.01373"),
        ("Pythia 12B", 11.8 * B, 300 * B, "arXiv:2304.01373"),
        ("Cerebras-GPT 111M", 111 * M, 2.2 * B, "arXiv:2304.03208"),
        ("Cerebras-GPT 13B", 13 * B, 257 * B, "arXiv:2304.03208"),
        ("Llama 2 7B", 6.7 * B, 2.0 * T, "arXiv:2307.09288"),
        ("Llama 2 70B", 69 * B, 2.0 * T, "arXiv:2307.09288"),
        ("Falcon 180B", 180 * B, 3.5 * T, "arXiv:2311.16867"),
        ("TinyLlama", 1.1 * B, 3.0 * T, "arXiv:2401.02385"),
        ("DeepSeek LLM 67B", 67 * B, 2.0 * T, "arXiv:2401.02954"),
        ("OLMo 7B", 6.9 * B, 2.46 * T, "arXiv:2402.00838"),
        ("Gemma 7B", 8.5 * B, 6 * T, "arXiv:2403.08295"),
        ("Nemotron-4 340B", 340 * B, 9 * T, "arXiv:2406.11704"),
        ("Llama 3 8B", 8.0 * B, 15 * T, "arXiv:2407.21783"),
        ("Llama 3.1 405B", 405 * B, 15.6 * T, "arXiv:2407.21783"),
        ("Gemma 2 27B", 27.2 * B, 13 * T, "arXiv:2408.00118"),
        ("Qwen2.5 0.5B", 0.5 * B, 18 * T, "arXiv:2412.15115"),
        ("Qwen2.5 72B", 72 * B, 18 * T, "arXiv:2412.15115"),
        ("SmolLM2 1.7B", 1.7 * B, 11 * T, "arXiv:2502.02737"),
        ("Gemma 3 27B", 27 * B, 14 * T, "arXiv:2503.19786"),
        ("Qwen3 0.6B", 0.6 * B, 36 * T, "arXiv:2505.09388"),
    ),
    *_models(
        "mixture",
        ("GShard", 600 * B, None, "arXiv:2006.16668"),
        ("Switch-C", 1571 * B, None, "arXiv:2101.03961"),
        ("DeepSeekMoE 16B", 16.4 * B, 2 * T, "arXiv:2401.06066", 2.8 * B),
        ("DeepSeek-V2", 236 * B, 8.1 * T, "arXiv:2405.04434", 21 * B),
        ("DeepSeek-V3", 671 * B, 14.8 * T, "arXiv:2412.19437", 37 * B),
        ("Qwen3 235B", 235 * B, 36 * T, "arXiv:2505.09388", 22 * B),
        ("Kimi K2", 1040 * B, 15.5 * T, "arXiv:2507.20534", 32 * B),
    ),
]


def select(kind: Kind | Literal["all"], until: int, least: float) -> list[KnownModel]:
    """Models of one kind, published in the year `until` or before, with `least` tokens per parameter or more; where
    `least` is 0, also those whose tokens are not known."""
    return [
        model
        for model in MODELS
        if kind in ("all", model.kind) and int(model.year) <= until and (not least or (model.ratio or 0) >= least)
    ]
