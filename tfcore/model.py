"""The whole Transformer, top to bottom: embed, a stack of blocks (or two), the language head."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore.attention import softcapped
from tfcore.config import ModelConfig
from tfcore.feedforward import ACTIVATIONS, PLAIN_ACTIVATIONS
from tfcore.initialise import initialise
from tfcore.input_checks import ModelInput, check_inputs
from tfcore.inspection.capture import ActivationRecorder, Capture, blocks_below
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.linear import Embedding, Linear, widen
from tfcore.norms import Norm
from tfcore.onednn import linear
from tfcore.part_configs import ClassesConfig
from tfcore.pictures import cut
from tfcore.sounds import SoundEmbedding
from tfcore.stack import Stack

NO_LOGITS = 0  # to keep, where the hidden states or activations are what is asked for


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a forward pass.

    Args:
        hidden: (batch, seq, d_model), the last hidden states (of the decoder, where there is one).
        logits: (batch, seq, vocab), the score of every token id as the next token at every position that was asked for
            (as the token at that place, in an encoder); of a head that tells classes apart (batch, seq, class), at each
            place the same where it reads the mean of all states.
        activations: name -> tensor for the names asked for; shapes in tfcore.inspection.capture.SHAPES.
        pooled: (batch, d_model), what BERT's pooler makes of the first token; None without a pooler.
        losses: name -> auxiliary loss of mixture-of-experts layers, summed over the layers.
    """

    hidden: Float[Tensor, "batch seq d_model"]
    _logits: Float[Tensor, "batch kept vocab"] | None
    activations: dict[str, Tensor]
    pooled: Float[Tensor, "batch d_model"] | None = None
    losses: dict[str, Tensor] = field(default_factory=dict)

    @property
    def logits(self) -> Float[Tensor, "batch kept vocab"]:
        """(batch, seq, vocab): the score of every token id as the next token at every position that was asked for (as
        the token at that place, in an encoder).

        Raises:
            AttributeError: the model has no language head; `hasattr(output, "logits")` tells.
        """
        if self._logits is None:
            raise AttributeError("this model has no language head, so no logits; its result is in output.hidden")
        return self._logits


class Transformer(nn.Module):
    """Decoder-only, encoder-only or both (arXiv:1706.03762; arXiv:2302.13971 for the modern parts).

    Args:
        config: everything about its shape.
        seed: of the initial weights; the same seed gives the same weights.
    """

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        both = config.architecture == "encoder-decoder"
        device = torch.get_default_device()
        with torch.device("meta"):  # no memory and no random numbers for weights that are drawn below
            self.embed = Embedding(config.vocab_size, config.embed_size)
            if config.patches is not None:
                self.patch_embed = Linear(config.patches.values, config.d_model)
            if config.sound is not None:
                self.sound_embed = SoundEmbedding(config, config.sound)
            if config.n_segments:
                self.segment_embed = Embedding(config.n_segments, config.embed_size)
            if config.encoder_layers:
                self.encoder = Stack(config, config.encoder_layers, causal=False)
            if config.decoder_layers:
                self.decoder = Stack(config, config.decoder_layers, causal=True, cross=both)
            if config.pooler:
                self.pooler = Linear(config.d_model, config.d_model)
            if config.head == "mlm":
                self.mlm = MaskedHead(config)
            if config.classes is not None:
                self.classes = ClassHead(config, config.classes)
            if config.scores_tokens and not config.tie_embeddings:
                self.unembed = Linear(config.embed_size, config.vocab_size, bias=False)
            of_logits = nn.Parameter(torch.zeros(config.vocab_size)) if config.has_logit_bias else None
            self.logit_bias = of_logits if config.head == "lm" else None  # the head for masked tokens has its own
        if device.type != "meta":
            # Drawn on the CPU, so that a seed gives the same weights on every device. Not by `to_empty`: for it torch
            # loads SymPy, 36 MB.
            room = {name: torch.empty(t.shape, dtype=t.dtype, device="cpu") for name, t in self.state_dict().items()}
            self.load_state_dict(room, assign=True)
            initialise(self, config, seed)
            self.to(device)

    def forward(
        self,
        ids: ModelInput,
        *,
        decoder_ids: Int[Tensor, "batch dec_seq"] | None = None,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        segment_ids: Int[Tensor, "batch seq"] | None = None,
        mask: Bool[Tensor, "*layer query key"] | None = None,
        capture: Capture = (),
        edits: Iterable[Edit] = (),
        cache: KVCache | None = None,
        logits_to_keep: int | None = None,
    ) -> Output:
        """Logits of the next token at every position; in an encoder, of the token at every position.

        Args:
            ids: token ids; the encoder's, in an encoder-decoder; or pictures (tfcore.pictures), of a model of patches;
                or spectrograms (tfcore.sounds.log_mel), of one of sound.
            decoder_ids: the decoder's; None where it reads the same text (ModelConfig.reads_twice).
            padding_mask: True at real tokens of `ids`; padding is seen by no other token.
            segment_ids: which segment each token is of; None means 0.
            mask: replaces the causal (or window) mask of a model of one stack: True where a query may see a key; one
                for all layers, or for each its own.
            capture: names or patterns of activations to return, such as "blocks.*.attn.pattern".
            edits: changes to activations, for this pass only.
            cache: keys and values of the tokens before `ids` (`decoder_ids`); the new ones are added to it. In an
                encoder-decoder it also keeps what the encoder gave, so that later passes do not run it again.
            logits_to_keep: how many positions to compute logits of, the last ones; NO_LOGITS of none, None of all.

        Raises:
            ValueError: ids outside the vocabulary, too long, or options that do not go together.
        """
        is_read_again = decoder_ids is None and self.config.reads_twice
        check_inputs(self.config, ids, ids if is_read_again else decoder_ids, padding_mask, segment_ids, mask, cache)
        decoder_ids = shifted_right(ids, self.config.start_id) if is_read_again else decoder_ids
        recorder = ActivationRecorder.of(capture, edits, self.config, cache.length if cache is not None else None)
        if decoder_ids is not None:
            x = self._both(ids, decoder_ids, padding_mask, recorder, cache)
        else:
            x = self.embedded(ids, recorder, segment_ids)
            x = self.stack(x, recorder, padding_mask=padding_mask, mask=mask, cache=cache)
        if cache is not None:
            cache.advance(ids.shape[1] if decoder_ids is None else decoder_ids.shape[1])
        pooled = torch.tanh(self.pooler(x[:, 0])) if self.config.pooler else None
        means = self.config.classes is not None and self.config.classes.place == "mean"
        read = mean_state(x, padding_mask)[:, None].expand_as(x) if means else x
        read = read if logits_to_keep is None else read[:, max(0, x.shape[1] - logits_to_keep) :]
        return Output(x, self.to_logits(read), recorder.record, pooled, recorder.losses)

    def activations(
        self,
        ids: ModelInput,
        names: Capture,
        *,
        decoder_ids: Int[Tensor, "batch dec_seq"] | None = None,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        mask: Bool[Tensor, "*layer query key"] | None = None,
        edits: Iterable[Edit] = (),
    ) -> dict[str, Tensor]:
        """Compute some activations and nothing else: no logits are computed and, in a model of one stack, no block
        above the last of them runs. Names, masks and edits as in `forward`.

        Raises:
            ValueError: ids outside the vocabulary or too long, no such activations, or as in `forward`.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if self.config.architecture == "encoder-decoder":
            given = {"decoder_ids": decoder_ids, "padding_mask": padding_mask, "mask": mask}
            return self(ids, **given, capture=names, edits=edits, logits_to_keep=NO_LOGITS).activations
        check_inputs(self.config, ids, padding_mask=padding_mask, mask=mask)
        recorder = ActivationRecorder.of(names, edits, self.config)
        x = self.embedded(ids, recorder)
        self.stack(x, recorder, padding_mask=padding_mask, mask=mask, until=blocks_below(names, self.config))
        return recorder.record

    def resume(
        self,
        stream: Float[Tensor, "batch seq d_model"],
        layer: int,
        *,
        edits: Iterable[Edit] = (),
        cache: KVCache | None = None,
        until: int | None = None,
        other: Float[Tensor, "_ other_seq d_model"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The last hidden states, from the residual stream before one of a model's blocks.

        Runs that differ only from some layer on share the layers below it; `to_logits` reads the result, at all
        positions or only at those of interest.

        Args:
            stream: the value of `blocks.{layer}.resid_pre`; with layer = n_layers, the stream after the last block.
            layer: the block; of an encoder-decoder counted through both stacks, the encoder's first.
            edits: changes to activations of this block and those above, for this pass only.
            cache: keys and values of the tokens before the stream's. The new ones are written behind them but not
                counted as held, so the same cache serves any number of such passes.
            until: the block to stop before; the residual stream before it is returned, and None runs to the end. This
                and the cache go with one stack.
            other: of an encoder-decoder, what the other stack gives: from a block of the encoder on the stream before
                the decoder's first block, from one of the decoder on the encoder's output.

        Raises:
            ValueError: no such layers, or an encoder-decoder without `other`, or with a cache or `until`.
        """
        if self.config.architecture == "encoder-decoder":
            return self._resumed_in_both(stream, layer, edits, cache, until, other)
        last = self.config.n_layers
        stop = last if until is None else until
        if not 0 <= layer <= stop <= last:
            raise ValueError(f"layer={layer} and until={until} must be in order, between 0 and {last}")
        recorder = ActivationRecorder.of((), edits, self.config, cache.length if cache is not None else None)
        return self.stack(stream, recorder, cache=cache, first=layer, until=until)

    def _resumed_in_both(
        self,
        stream: Float[Tensor, "batch seq d_model"],
        layer: int,
        edits: Iterable[Edit],
        cache: KVCache | None,
        until: int | None,
        other: Float[Tensor, "_ other_seq d_model"] | None,
    ) -> Float[Tensor, "batch dec_seq d_model"]:
        """See resume: the rest of the encoder where it is in that, and the decoder."""
        below, last = self.config.encoder_layers, self.config.encoder_layers + self.config.decoder_layers
        if not 0 <= layer <= last or other is None or cache is not None or until is not None:
            raise ValueError(
                f"an encoder-decoder is resumed with what its other stack gives, without cache and until, from a "
                f"layer between 0 and {last}, not {layer}"
            )
        recorder, other = ActivationRecorder.of((), edits, self.config), other.expand(len(stream), -1, -1)
        under = recorder.under("decoder.")
        if layer < below:
            memory = self.encoder(stream, recorder.under("encoder."), first=layer)
            return self.decoder(other, under, memory=memory, first=0)
        return self.decoder(stream, under, memory=other, first=layer - below)

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return self.embed.stored.device

    @property
    def dtype(self) -> torch.dtype:
        """The type that is computed in."""
        return self.embed.dtype

    @property
    def halved(self) -> bool:
        """Whether matrices are kept in 16 bits and computed in a wider type (tfcore.half_weights)."""
        return self.embed.stored.dtype != self.dtype

    @property
    def weight_bytes(self) -> int:
        """The memory that the weights take."""
        return sum(one.nbytes for one in self.parameters())

    def to(self, *place: Any, **named: Any) -> Self:
        """The model itself, elsewhere or in another type, which it then computes in, too."""
        if any(isinstance(one, torch.dtype) for one in (*place, *named.values())):
            widen(self, None)
        return super().to(*place, **named)

    def with_weights(self, config: ModelConfig, weights: Mapping[str, Float[Tensor, "..."]]) -> "Transformer":
        """A model of another config, ready to answer, with weights of this one: they are not copied."""
        with torch.device("meta"):
            other = Transformer(config)
        other.load_state_dict(weights, assign=True)
        widen(other, self.dtype if self.halved else None)
        return other.eval().requires_grad_(False)

    @property
    def stack(self) -> Stack:
        """The blocks of a model of one stack."""
        return self.encoder if self.config.architecture == "encoder" else self.decoder

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks that a model has, in the order of computation."""
        return (self.encoder, self.decoder) if self.config.architecture == "encoder-decoder" else (self.stack,)

    def _both(
        self,
        ids: ModelInput,
        decoder_ids: Int[Tensor, "batch dec_seq"],
        padding_mask: Bool[Tensor, "batch seq"] | None,
        recorder: ActivationRecorder,
        cache: KVCache | None,
    ) -> Float[Tensor, "batch dec_seq d_model"]:
        """The encoder, unless the cache remembers what it gave, and the decoder."""
        memory = None
        if cache is not None and cache.memory[0] is not None:
            padding_mask = cache.memory_mask
        else:
            under = recorder.under("encoder.")
            memory = self.encoder(self.embedded(ids, under), under, padding_mask=padding_mask)
            if cache is not None:
                cache.memory_mask = padding_mask
        under = recorder.under("decoder.")
        x = self.embedded(decoder_ids, under)
        return self.decoder(x, under, cache=cache, memory=memory, memory_mask=padding_mask)

    def embedded(
        self, ids: ModelInput, recorder: ActivationRecorder, segment_ids: Int[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch n_tokens d_embed"]:
        """Token (and segment) embeddings as the stack takes them, without positions; of a picture the learned tokens
        and then its patches, of a spectrogram what the convolutions make of it."""
        if ids.ndim == 3:
            return recorder("embed", self.sound_embed(ids))
        if self.config.patches is None:
            x = self.embed(ids)
        else:
            learned = self.embed.weight.expand(len(ids), -1, -1)
            x = torch.cat((learned, self.patch_embed(cut(ids, self.config.patches.size))), dim=1)
        if self.config.embed_scale != 1:
            x = x * self.config.embed_scale
        x = recorder("embed", x)
        if self.config.n_segments:
            segment_ids = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + recorder("segment_embed", self.segment_embed(segment_ids))
        return x

    def answer_state(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch d_model"]:
        """The state from which the answer to a text is read, of its last hidden states: see ModelConfig.read_at."""
        classes = self.config.classes
        if classes is not None and classes.place == "mean":
            return mean_state(hidden)
        return hidden[:, self.config.read_at]

    def to_logits(
        self, x: Float[Tensor, "*batch d_model"], capped: bool = True
    ) -> Float[Tensor, "*batch vocab"] | None:
        """Logits read from last hidden states, of token ids or of classes; None where the model has no head.

        Args:
            capped: bent by the model's soft cap, where it has one; without it a logit is a sum of its parts.
        """
        config = self.config
        if config.head == "none":
            return None
        if config.classes is not None:
            return self.classes(x)
        table = self.embed.stored if config.tie_embeddings else self.unembed.stored
        if config.head == "mlm":
            logits = linear(self.mlm(x), table, self.mlm.bias)
        else:
            logits = linear(x if config.logit_scale == 1 else x * config.logit_scale, table, self.logit_bias)
        return softcapped(logits, config.logit_softcap) if capped else logits


def shifted_right(ids: Int[Tensor, "batch seq"], start_id: int) -> Int[Tensor, "batch seq"]:
    """The ids one place further on, behind the one that a decoder starts with."""
    return torch.cat((torch.full_like(ids[:, :1], start_id), ids[:, :-1]), dim=1)


def mean_state(
    x: Float[Tensor, "batch seq d_model"], padding_mask: Bool[Tensor, "batch seq"] | None = None
) -> Float[Tensor, "batch d_model"]:
    """The mean of the states of a text's tokens; `padding_mask` is True at those that are no padding."""
    if padding_mask is None:
        return x.mean(1)
    counts = padding_mask[..., None].to(x)
    return (x * counts).sum(1) / counts.sum(1)


class MaskedHead(nn.Module):
    """BERT's layers before the logits: a dense layer, its activation, a norm; and a bias for each token id.

    Source: arXiv:1810.04805, section 3.1, and its published code ("transform").
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.embed_size
        self.dense, self.ln = Linear(config.d_model, width, bias=config.mlm_bias), Norm(config, width)
        self.activation = ACTIVATIONS[config.mlm_activation or config.feed_forward.activation]
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.has_logit_bias else None

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_embed"]:
        return self.ln(self.activation(self.dense(x)))


class ClassHead(nn.Module):
    """The scores of classes, read from a state: score(act(dense x)), or score(x) where there is no dense layer.

    Source: arXiv:1810.04805, section 4.1, and the published code of the families.
    """

    def __init__(self, config: ModelConfig, classes: ClassesConfig) -> None:
        super().__init__()
        self.activation = PLAIN_ACTIVATIONS[classes.dense] if classes.dense is not None else None
        if classes.dense is not None:
            self.dense = Linear(config.d_model, config.d_model, bias=classes.dense_bias)
        if classes.normed:
            self.ln = Norm(config)
        self.normed = classes.normed
        self.score = Linear(config.d_model, len(classes.labels), bias=classes.bias)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch class"]:
        if self.activation is not None:
            x = self.activation(self.dense(x))
        return self.score(self.ln(x) if self.normed else x)
