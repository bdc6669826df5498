"""What each stage of the walk is called and says: a sentence for a newcomer, the equation, what to look for."""

from dataclasses import asdict, dataclass, replace
from string import Template
from typing import Any

from tfcore.config import GATED, ModelConfig


@dataclass(frozen=True, slots=True)
class Words:
    """Args:
    label: on the map.
    title: of the stage.
    sentence: what happens, for who hears of it for the first time.
    equation: LaTeX, with $names from `numbers`.
    arrow: what stands over the arrow from before to after, LaTeX.
    see: what to look for in the picture.
    role: colour role of the stop.
    """

    label: str
    title: str
    sentence: str
    equation: str
    arrow: str
    see: str
    role: str


_NORM = Words(
    "norm", "Normalise each token",
    "Every token's vector is brought to the same size, so that whatever reads it next meets numbers in a range it "
    "knows.",
    "$norm", r"\text{norm}",
    "Pale rows become as strong as the others. The pattern inside a row stays, apart from a learned factor for each "
    "column.",
    "norm",
)  # fmt: skip
_ADD = Words(
    "add", "Add it to the stream",
    "What was computed is added to what was there, not put in its place: nothing is lost, and the next stage reads "
    "both.",
    r"x \leftarrow x + \text{$added}", "+",
    "The picture after is the stream, corrected here and there. This sum is the residual connection: follow the yellow "
    "line on the map, it runs through.",
    "residual",
)  # fmt: skip
_AFTER = Words(
    "norm", "Normalise what will be added",
    "What this half of the block found is brought to a common size before it joins the stream.",
    "$norm", r"\text{norm}", "Rows that were strong or weak now have about the same size.", "norm",
)  # fmt: skip

WORDS: dict[str, Words] = {
    "characters": Words(
        "letters", "A text is a row of characters",
        "This is what goes in. To a computer each character is a number already; under each one is its own.",
        r"(c_1, c_2, \dots, c_n) \to p(\text{next})", r"\text{model}",
        "Left is what goes in, spaces as dots; right is what comes out at the other end of the map: how likely each "
        "token is to be the next. Press Play, or the right arrow key, to see how the one becomes the other.",
        "muted",
    ),
    "tokens": Words(
        "tokens", "Cut into tokens",
        "The text is cut into pieces that were frequent in the training texts: common words whole, rare ones in parts.",
        r"(c_1 \dots c_n) \to (t_1 \dots t_T)", r"\text{cut}",
        "Colours show which characters went into which token. A space belongs to the word after it. From here on, "
        "one token is one row of every picture.",
        "muted",
    ),
    "ids": Words(
        "ids", "Each token has a number",
        "Every token is looked up in a fixed list, the vocabulary, and replaced by its place there.",
        r"t_i \in \{0, \dots, $last_id\}", r"\text{look up}",
        "The same token has the same number wherever it stands. The numbers say nothing about meaning: that comes "
        "with the next stage.",
        "muted",
    ),
    "embedding": Words(
        "embedding", "Each id becomes a vector",
        "Each number picks one row of a large learned table: a list of $d_model numbers that stands for the token.",
        r"x_i = E_{t_i}, \quad E \in \mathbb{R}^{$vocab \times $d_model}", r"E_t",
        "Each row is a token, each thin column one of its numbers: red above 0, blue below. Equal tokens have equal "
        "rows. From here on this is the residual stream, the yellow line on the map.",
        "embedding",
    ),
    "scaling": Words(
        "scale", "Make the embeddings larger",
        "The embeddings are multiplied by the square root of their width, so that the positions added next do not "
        "drown them.",
        r"x \leftarrow \sqrt{d_{model}}\, x = $root_d_model\, x", r"\times\sqrt{d}",
        "The same pattern, stronger (arXiv:1706.03762, section 3.4).", "embedding",
    ),
    "segments": Words(
        "segments", "Say which sentence it is",
        "A learned vector for the first or the second segment is added to each token.",
        r"x_i \leftarrow x_i + S_{s_i}", "+", "The same vector is added to every token of a segment.", "position",
    ),
    "positions": Words(
        "positions", "Say where it stands",
        "A vector that depends on the position alone is added to each token, because attention by itself knows no "
        "order.",
        r"x_i \leftarrow x_i + p_i", "+",
        "Equal tokens are no longer equal rows: each now also says where it is.", "position",
    ),
    "embedding-norm": _NORM,
    "norm-1": replace(
        _NORM,
        sentence="$before token's vector is brought to one size, so that attention meets numbers in a range it knows.",
    ),
    "qkv": Words(
        "Q, K, V", "Ask, offer, carry",
        "Each token makes three new vectors: a query (what am I looking for?), a key (what do I offer?) and a value "
        "(what do I pass on?).",
        r"[Q\;K\;V] = x\,[W_Q\;W_K\;W_V]", r"W_{QKV}",
        "The three matrices lie side by side in one, so this is one product. A row is still one token: nothing has "
        "passed between tokens yet.",
        "query",
    ),
    "heads": Words(
        "heads", "Split into heads",
        "The columns are dealt out to $n_heads heads, each of which will look at the text in its own way; from here we "
        "follow one.",
        r"(T, $d_q) \to ($n_heads, T, $d_head)", r"\text{split}",
        "The frames show which columns this head gets. Move the slider of the head and they move. No number changes.",
        "query",
    ),
    "qk-norm": Words(
        "norm Q, K", "Normalise queries and keys",
        "Each query and each key is brought to the same size, so that no score can grow out of hand.",
        r"q \leftarrow \mathrm{norm}(q), \; k \leftarrow \mathrm{norm}(k)", r"\text{norm}",
        "Rows of Q and K have the same size now (arXiv:2010.04245).", "norm",
    ),
    "rotation": Words(
        "rotate", "Turn by position",
        "Queries and keys are turned by an angle that grows with their position: that is how this model knows the "
        "order of tokens.",
        r"q_m \leftarrow R_m\, q_m, \quad k_n \leftarrow R_n\, k_n", r"R_m",
        "The first row stays as it is, position 0 is not turned; later rows change, most of all in the columns that "
        "turn fast. Nothing was added to the embeddings (RoPE, arXiv:2104.09864).",
        "position",
    ),
    "scores": Words(
        "scores", "Does the query fit the key?",
        "Each token's query is compared with every token's key: the better they fit, the higher the score.",
        r"S_{ij} = q_i \cdot k_j, \quad S = QK^\top", r"Q K^\top",
        "This is the first picture in which tokens meet: a row looks, a column is looked at. Red fits, blue does not.",
        "attention",
    ),
    "scaled": Words(
        "÷ √d", "Scale the scores",
        "All scores are made smaller by the same factor, or the softmax would pick one token and be deaf to all "
        "others.",
        r"S \leftarrow S \cdot $scale_words", r"$scale_sign",
        "The same picture, paler: both have one range of colours (arXiv:1706.03762, section 3.2.1).", "attention",
    ),
    "bias": Words(
        "distance", "Count the distance",
        "Each score gets a number that depends on how far apart the two tokens are: that is how this model knows their "
        "order.",
        r"S_{ij} \leftarrow S_{ij} + b_{i-j}", r"+\,b",
        "Only the distance counts, so each diagonal changes by one and the same number.", "position",
    ),
    "mask": Words(
        "mask", "No looking ahead",
        "A token may not see what it may not know: those scores are set to minus infinity.",
        r"S_{ij} \leftarrow -\infty \text{ where } i \text{ may not see } j", r"\text{mask}",
        "In a model that writes, the half above the diagonal goes: each token sees itself and what came before.",
        "attention",
    ),
    "softmax": Words(
        "softmax", "Scores become shares",
        "Each row of scores becomes shares that sum to 1: how much of its attention a token gives to each other one.",
        r"A_{ij} = e^{S_{ij}} \Big/ \sum_j e^{S_{ij}}", r"\text{softmax}",
        "Strong colour is much attention. The first token can only look at itself. Try other heads: each has its own "
        "way of looking.",
        "attention",
    ),
    "values": Words(
        "mix values", "Take what was looked for",
        "Each token collects the values of the others, as much of each as its attention says.",
        r"z_i = \sum_j A_{ij}\, v_j, \quad Z = A V", r"A V",
        "Where a row of A is strong in one place only, its row of the result is a copy of that token's row of V.",
        "value",
    ),
    "concat": Words(
        "join heads", "Put the heads side by side",
        "What all $n_heads heads found is written into one row again, each head in columns of its own, ready to be "
        "mixed.",
        r"($n_heads, T, $d_head) \to (T, $d_q)", r"\text{join}",
        "The frame shows this head's columns; the others come from heads that looked elsewhere. No number changes.",
        "value",
    ),
    "output": Words(
        "mix heads", "Back to the width of the stream",
        "One more matrix mixes what the heads found, and decides what of it is worth writing into the stream.",
        r"\text{attention}(x) = \mathrm{concat}(Z_1 \dots Z_{$n_heads})\, W_O", r"W_O",
        "The columns no longer belong to heads. The result is as wide as the stream it will be added to.",
        "attention",
    ),
    "norm-1-after": _AFTER,
    "add-1": _ADD,
    "norm-2": _NORM,
    "up": Words(
        "widen", "Ask many small questions",
        "Each token, now by itself, is compared with $d_ff patterns: that is the feed-forward layer's wide middle.",
        "$up", r"$up_arrow",
        "Tokens no longer look at each other here: each row depends on its own row alone. Each column is a neuron.",
        "feedforward",
    ),
    "activation": Words(
        "activate", "Keep what fires",
        "A bend in the line: what did not fit is pushed towards 0. Without it, all these layers would melt into one.",
        "$act", r"$act_name",
        "Few columns stay strong: those are the neurons that fire for this token. The rest is near 0.", "feedforward",
    ),
    "down": Words(
        "narrow", "Write what they know",
        "Every neuron that fires writes its own vector; their sum is what this layer has to say about the token.",
        r"\text{feed-forward}(x) = h\,W_{down}", r"W_{down}",
        "As wide as the stream again. Two thirds of a block's parameters are in these matrices.", "feedforward",
    ),
    "router": Words(
        "router", "Which experts?",
        "A small layer decides for each token which of $n_experts experts it goes to.",
        r"p = \mathrm{softmax}(x\,W_r)", r"W_r", "Strong: the experts this token would rather go to.", "feedforward",
    ),
    "experts": Words(
        "experts", "Ask the chosen ones",
        "Each token goes through its $top_k best experts alone; their answers are summed, weighted.",
        r"y = \sum_{e \in \text{chosen}} w_e\, \mathrm{FFN}_e(x)", r"\sum_e w_e",
        "All other experts cost nothing for this token.", "feedforward",
    ),
    "norm-2-after": _AFTER,
    "add-2": _ADD,
    "final-norm": Words(
        "norm", "Normalise one last time",
        "After the last block the stream is brought to a common size, ready to be read.",
        "$norm", r"\text{norm}",
        "$blocks blocks have written into these rows. The last one now holds what the model expects to come next.",
        "norm",
    ),
    "mlm-head": Words(
        "dense", "Prepare the guess",
        "One more small layer turns each token's vector towards the table it will be compared with.",
        r"y = \mathrm{norm}(\mathrm{act}(x\,W + b))", r"W",
        "As in BERT (arXiv:1810.04805, section 3.1).", "embedding",
    ),
    "logits": Words(
        "logits", "Compare with every token",
        "The vector is compared with a vector for each of the $vocab tokens of the vocabulary: which one does it "
        "point to?",
        r"\ell = x\,$table", r"$table",
        "Each row rates what may follow its own token, the last row what follows the text. $tied",
        "embedding",
    ),
    "probabilities": Words(
        "softmax", "Scores become probabilities",
        "The same function as in attention: scores become shares that sum to 1, over the whole vocabulary.",
        r"p_t = e^{\ell_t} \Big/ \sum_u e^{\ell_u}", r"\text{softmax}",
        "Differences grow: a score a little higher is a probability many times larger.",
        "accent",
    ),
    "top-5": Words(
        "$answer", "What comes next",
        "The most likely tokens. To write on, one is picked, put at the end of the text, and the walk begins anew.",
        r"p(t_{T+1} \mid t_1 \dots t_T)", r"\text{pick}",
        "That is all a language model does, over and over. Change a word of the text and see the answer change.",
        "accent",
    ),
}  # fmt: skip

# As the slider and links say them, where the name is more a programmer's than a reader's; links may say either.
SAID: dict[str, str] = {
    "characters": "letters", "embedding-norm": "norm of embeddings", "norm-1": "first norm", "qkv": "Q K V",
    "qk-norm": "norm of Q and K", "rotation": "rotate", "scaled": "divide", "values": "mix values",
    "concat": "join heads", "output": "mix heads", "norm-1-after": "norm after attention", "add-1": "first add",
    "norm-2": "second norm", "up": "widen", "activation": "activate", "down": "narrow",
    "norm-2-after": "norm after feed-forward", "add-2": "second add", "final-norm": "last norm", "mlm-head": "dense",
    "top-5": "answer",
}  # fmt: skip
_GUESS = "The most likely tokens for the hidden place. A model that reads both ways fills blanks, it does not write on."
_GUESS_SEE = "Hide another token, or change a word before or after the blank, and see the guess change."
_NORMS = {
    "rmsnorm": r"y = \frac{x}{\sqrt{\mathrm{mean}(x^2) + \epsilon}} \cdot g",
    "layernorm": r"y = \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}} \cdot g$shift",
}
_ACTIVATIONS = {"gelu_tanh": "gelu", "swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu", "reglu": "relu"}


def numbers(config: ModelConfig, stage: str, layer: int, answer: str) -> dict[str, Any]:
    """What stands for the $names."""
    gated = config.activation in GATED
    name = r"\mathrm{" + _ACTIVATIONS.get(config.activation, config.activation) + "}"
    scale = config.scale_of(layer)
    by_root = scale == config.head_size**-0.5
    norm = _NORMS[config.norm].replace("$shift", " + b" if config.bias else "")
    tied = "The table is the one of the embeddings, turned round (tied)." if config.tie_embeddings else (
        "The table is another one than that of the embeddings (untied)."
    )  # fmt: skip
    return {
        "d_model": config.d_model, "root_d_model": f"{config.d_model**0.5:.1f}", "vocab": f"{config.vocab_size}",
        "last_id": config.vocab_size - 1, "n_heads": config.n_heads, "d_head": config.head_size,
        "d_q": config.n_heads * config.head_size, "d_ff": config.ff_size, "norm": norm,
        "blocks": config.n_layers, "tied": tied, "answer": answer, "act_name": name,
        "before": f"After {layer} other {'block' if layer == 1 else 'blocks'}, each" if layer else "Each",
        "added": "attention" if stage == "add-1" else "feed-forward",
        "scale_words": rf"\tfrac{{1}}{{\sqrt{{d_k}}}} = \tfrac{{1}}{{\sqrt{{{config.head_size}}}}}" if by_root
        else f"{scale:.4g}",
        "scale_sign": rf"\div\sqrt{{{config.head_size}}}" if by_root else rf"\times {scale:.4g}",
        "up": r"g = x\,W_{gate}, \quad u = x\,W_{up}" if gated else r"h = x\,W_{up}",
        "up_arrow": r"W_{gate},\,W_{up}" if gated else r"W_{up}",
        "act": rf"h = {name}(g) \odot u" if gated else rf"h \leftarrow {name}(h)",
        "table": r"E^\top" if config.tie_embeddings else r"W_U^\top",
        "n_experts": config.experts.n_experts if config.experts else 0,
        "top_k": config.experts.top_k if config.experts else 0,
    }  # fmt: skip


def words(config: ModelConfig, stage: str, layer: int, answer: str) -> Words:
    """The words of a stage in a model, on the way through this layer's block to this answer."""
    plain, given = WORDS[stage], numbers(config, stage, layer, answer)
    if stage == "norm-1" and config.norm_placement == "post":  # it comes after attention there
        plain = _NORM
    if stage == "top-5" and config.architecture == "encoder":
        plain = replace(plain, sentence=_GUESS, equation=r"p(t_i \mid \text{all others})", see=_GUESS_SEE)
    said = {name: Template(part).substitute(given) for name, part in asdict(plain).items()}
    return Words(**said)
