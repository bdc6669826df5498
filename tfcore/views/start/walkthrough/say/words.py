"""The name of each stage of a walk and its words: a sentence for a newcomer, the equation, what to look for."""

from dataclasses import asdict, dataclass, replace
from string import Template

from tfcore.config import ModelConfig
from tfcore.views.block.normalisation.measure.norms import NORM_NAMES
from tfcore.views.start.walkthrough.measure.costs import feed_forward_share


@dataclass(frozen=True, slots=True)
class StageWords:
    """The name of a stage, and its words.

    Args:
        label: on the map.
        title: of the stage.
        sentence: what happens, for a reader new to it.
        equation: LaTeX, with $names of `values_for_words`.
        arrow: over the arrow from before to after, LaTeX.
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


_NORM = StageWords(
    "norm",
    "Normalise each token",
    "$norm_name: every token's vector is brought to the same size, whatever its size was before, and then scaled by a "
    "learned factor for each column.",
    "$norm",
    r"\text{norm}",
    "Where rows still differ in strength, that comes from what is learned for each column. $norm_keeps",
    "norm",
)
_ADD = StageWords(
    "add",
    "Add it to the stream",
    "What was computed is added to the stream, not put in its place: nothing is lost, the next stage reads both.",
    r"x \leftarrow x + \text{$added}",
    "+",
    "This sum is the residual connection: follow the yellow line on the map, it runs through. The sentence under the "
    "pictures says how large the addition is beside the stream.",
    "residual",
)
_AFTER = StageWords(
    "norm",
    "Normalise what will be added",
    "The output of this sublayer is normalised before it is added to the residual stream.",
    "$norm",
    r"\text{norm}",
    "Apart from what is learned for each column, all rows now have the same size.",
    "norm",
)

WORDS: dict[str, StageWords] = {
    "characters": StageWords(
        "characters",
        "A text is a sequence of characters",
        "This is what goes in. To a computer each character is a number already; under each one is its own.",
        r"(c_1, c_2, \dots, c_n) \to p(\text{next})",
        r"\text{model}",
        "Left is what goes in, spaces as dots; right is what comes out at the other end of the map: how likely each "
        "token is to be the next. Press Play, or the right arrow key, to see how the one becomes the other.",
        "muted",
    ),
    "tokens": StageWords(
        "tokens",
        "Cut into tokens",
        "The tokenizer cuts the text into pieces of its vocabulary. In most vocabularies a word that was frequent in "
        "the texts they were made from is one piece, and a rare word is cut into several.",
        r"(c_1 \dots c_n) \to (t_1 \dots t_T)",
        r"\text{cut}",
        "Colours show which characters went into which token; a dot is a space. From here on, one token is one row of "
        "every picture.",
        "muted",
    ),
    "ids": StageWords(
        "ids",
        "Each token has a number",
        "Every token is looked up in a fixed list, the vocabulary, and replaced by its place there.",
        r"t_i \in \{0, \dots, $last_id\}",
        r"\text{look up}",
        "The same token has the same number wherever it stands. The numbers say nothing about meaning: that comes "
        "with the next stage.",
        "muted",
    ),
    "embedding": StageWords(
        "embedding",
        "Each id becomes a vector",
        "Each number picks one row of a large learned table: a list of $embed_size numbers that stands for the token.",
        r"x_i = E_{t_i}, \quad E \in \mathbb{R}^{$vocab \times $embed_size}",
        r"E_t",
        "Each row is a token, each thin column one of its numbers: red above 0, blue below. Equal tokens have equal "
        "rows. From here on this is the residual stream, the yellow line on the map.",
        "embedding",
    ),
    "scaling": StageWords(
        "scale",
        "Scale the embeddings",
        "The embeddings are multiplied by the square root of their width. The paper gives no reason; where position "
        "embeddings are added, these weigh less beside them.",
        r"x \leftarrow \sqrt{d_{model}}\, x = $root_d_model\, x",
        r"\times\sqrt{d}",
        "The same pattern, stronger (arXiv:1706.03762, section 3.4).",
        "embedding",
    ),
    "segments": StageWords(
        "segments",
        "Add segment embeddings",
        "A learned vector for the first or the second segment (sentence) is added to each token.",
        r"x_i \leftarrow x_i + S_{s_i}",
        "+",
        "The same vector is added to every token of a segment.",
        "position",
    ),
    "positions": StageWords(
        "positions",
        "Add position embeddings",
        "A vector that depends on the position alone is added to each token, because the scores of attention do not "
        "depend on the order of the tokens.",
        r"x_i \leftarrow x_i + p_i",
        "+",
        "Equal tokens are no longer equal rows: each now also says where it is.",
        "position",
    ),
    "embedding-norm": _NORM,
    "embedding-projection": StageWords(
        "project",
        "Make the embeddings as wide as the stream",
        "The embeddings are $embed_size numbers wide, the residual stream $d_model: a learned matrix makes the "
        "second of the first. So the table of all tokens is smaller.",
        r"x \leftarrow x\, W + b, \quad W \in \mathbb{R}^{$embed_size \times $d_model}",
        r"W",
        "Each row is still a token, now with as many numbers as layers read and write (arXiv:1909.11942, section 3.1).",
        "embedding",
    ),
    "norm-1": replace(
        _NORM,
        sentence="$norm_name. $before token's vector is brought to the same size, and then scaled by a learned factor "
        "for each column, before attention reads it.",
    ),
    "qkv": StageWords(
        "Q, K, V",
        "Project to queries, keys and values",
        "Three learned matrices make three vectors of each token: a query (what it looks for), a key (what it can be "
        "found by) and a value (what it passes on).",
        r"[Q\;K\;V] = x\,[W_Q\;W_K\;W_V]",
        r"W_{QKV}",
        "The three matrices stand side by side in one, so this is one product. A row is still one token: no "
        "information has passed between tokens in this layer yet.",
        "query",
    ),
    "clip": StageWords(
        "clip",
        "Cut off queries, keys and values",
        "Numbers above $clip become $clip, those below -$clip become -$clip: no query, key or value can have a number "
        "farther from 0.",
        r"[Q\;K\;V] \leftarrow \min(\max([Q\;K\;V], -$clip), $clip)",
        r"\text{clip}",
        "Both pictures have one range of colours, and differ only where a number was cut off.",
        "query",
    ),
    "heads": StageWords(
        "heads",
        "Split into heads",
        "The columns are divided among $n_heads heads, each of which computes attention weights of its own; from here "
        "we follow one.",
        r"(T, $d_q) \to ($n_heads, T, $d_head)",
        r"\text{split}",
        "The frames show which columns this head gets. Move the slider of the head and they move. No number changes.",
        "query",
    ),
    "qk-norm": StageWords(
        "QK-norm",
        "Normalise queries and keys",
        "QK-norm: each query and each key is brought to the same size, apart from a learned factor for each column, "
        "which bounds every score.",
        r"q \leftarrow \mathrm{norm}(q), \; k \leftarrow \mathrm{norm}(k)",
        r"\text{norm}",
        "Where rows of Q or of K still differ in strength, that comes from the learned factors (arXiv:2010.04245).",
        "norm",
    ),
    "rotation": StageWords(
        "RoPE",
        "Rotate by position",
        "Rotary position embedding (RoPE): pairs of columns of queries and keys are rotated by an angle that grows "
        "with their position. That tells this model how far apart two tokens are.",
        r"q_m \leftarrow R_m\, q_m, \quad k_n \leftarrow R_n\, k_n",
        r"R_m",
        "The first row stays as it is, because the angle at position 0 is 0. Later rows change; columns that rotate "
        "slowly hardly do. Nothing was added to the embeddings (arXiv:2104.09864).",
        "position",
    ),
    "scores": StageWords(
        "scores",
        "Attention scores: query times key",
        "The dot product of each token's query with every token's key: the more they point the same way, the higher "
        "the score; the longer they are, the farther it is from 0.",
        r"S_{ij} = q_i \cdot k_j, \quad S = QK^\top",
        r"Q K^\top",
        "Here tokens are compared with each other: a row is a query token, a column a key token. Red is a score above "
        "0, blue one below.",
        "attention",
    ),
    "scaled": StageWords(
        "$scale_label",
        "Scale the scores",
        "All scores are multiplied by the same factor. Dot products spread wider in wider heads, and the softmax of "
        "scores far apart gives nearly all weight to one token.",
        r"S \leftarrow S \cdot $scale_words",
        r"$scale_sign",
        "The same pattern: both pictures have one range of colours (arXiv:1706.03762, section 3.2.1).",
        "attention",
    ),
    "softcap": StageWords(
        "soft cap",
        "Bend the scores under a cap",
        "Soft cap: scores near 0 stay nearly as they are, and none can be larger than $softcap.",
        r"S \leftarrow $softcap \tanh(S / $softcap)",
        r"\tanh",
        "The same pattern: both pictures have one range of colours. Only scores that are large beside $softcap become "
        "smaller (arXiv:2408.00118).",
        "attention",
    ),
    "bias": StageWords(
        "bias",
        "Add a position bias",
        "A number that depends on the distance between the two tokens is added to each score. That tells this model "
        "how far apart they are.",
        r"S_{ij} \leftarrow S_{ij} + b_{i-j}",
        r"+\,b",
        "The bias depends on the distance alone, so each diagonal changes by one and the same number.",
        "position",
    ),
    "mask": StageWords(
        "mask",
        "Apply the mask",
        "$mask_words The scores of pairs that are not allowed are set to minus infinity.",
        r"S_{ij} \leftarrow -\infty \text{ where } i \text{ may not see } j",
        r"\text{mask}",
        "Grey cells are blocked: their weight will be exactly 0.",
        "attention",
    ),
    "softmax": StageWords(
        "softmax",
        "Softmax: scores become attention weights",
        "Each row of scores becomes weights that sum to $row_sum: how much the query token attends to each key token."
        "$sink_words",
        r"A_{ij} = e^{S_{ij}} \Big/ $normaliser",
        r"\text{softmax}",
        "The stronger the colour, the larger the weight. $first_token Move the slider of the head: the heads differ.",
        "attention",
    ),
    "values": StageWords(
        "A V",
        "Weighted sum of values",
        "Each token gets the sum of the values of all tokens it attends to, each times its attention weight.",
        r"z_i = \sum_j A_{ij}\, v_j, \quad Z = A V",
        r"A V",
        "Where a row of A is strong in one place only, its row of the result is close to that token's row of V.",
        "value",
    ),
    "concat": StageWords(
        "concat",
        "Concatenate the heads",
        "The outputs of all $n_heads heads stand side by side in one row again, each head in columns of its own.",
        r"($n_heads, T, $d_head) \to (T, $d_q)",
        r"\text{concat}",
        "The frame shows this head's columns; the others come from the other heads. No number changes.",
        "value",
    ),
    "output": StageWords(
        "output",
        "Output projection",
        "One more learned matrix, W_O, turns the outputs of all heads into what attention writes into the residual "
        "stream.",
        r"\text{attention}(x) = \mathrm{concat}(Z_1 \dots Z_{$n_heads})\, W_O",
        r"W_O",
        "The columns no longer belong to heads. The result is as wide as the stream it will be added to.",
        "attention",
    ),
    "norm-1-after": _AFTER,
    "add-1": _ADD,
    "norm-2": _NORM,
    "up": StageWords(
        "up",
        "Up-projection",
        "$up_words",
        "$up",
        r"$up_arrow",
        "In the feed-forward layer each row depends on its own row alone; tokens do not meet. Each column is a neuron.",
        "feedforward",
    ),
    "activation": StageWords(
        "activation",
        "Activation function",
        "$act_words",
        "$act",
        r"$act_name",
        "A strong value is a neuron that is active for this token. The sentence under the pictures counts how many "
        "values are near 0 afterwards and how many are large; it differs from layer to layer.",
        "feedforward",
    ),
    "down": StageWords(
        "down",
        "Down-projection",
        "Every neuron adds its own vector, a row of W_down, times its activation; the sum is what this layer writes "
        "into the residual stream.",
        r"\text{feed-forward}(x) = h\,W_{down}",
        r"W_{down}",
        "As wide as the stream again. The feed-forward layer has $ff_share of this block's parameters.",
        "feedforward",
    ),
    "router": StageWords(
        "router",
        "Router: which experts?",
        "A linear layer gives each token a probability for each of $n_experts experts. The token goes to "
        "$chosen_words.",
        r"p = \mathrm{softmax}(x\,W_r)",
        r"W_r",
        "Strong: the experts with the highest probability.",
        "feedforward",
    ),
    "experts": StageWords(
        "experts",
        "Run the chosen experts",
        "Each token goes through $expert_words; their outputs are summed, each times its weight.",
        r"y = \sum_{e \in \text{chosen}} w_e\, \mathrm{FFN}_e(x)",
        r"\sum_e w_e",
        "The other experts are not computed for this token.",
        "feedforward",
    ),
    "norm-2-after": _AFTER,
    "add-2": _ADD,
    "convolution": StageWords(
        "convolution",
        "Convolve the embeddings",
        "Beside its first block this model has a convolution: a linear map of what the block read at each token and "
        "its neighbours, $conv_width tokens in all, and an activation function.",
        r"c_i = \mathrm{act}\Big(\sum_{j} W_j\, x_{i+j} + b\Big)",
        r"W * x",
        "Neighbours meet here whatever they are, while attention chooses among all tokens; it is added to the stream "
        "after the block (the published code of DeBERTa v2).",
        "feedforward",
    ),
    "add-3": _ADD,
    "norm-3": _NORM,
    "final-norm": StageWords(
        "norm",
        "Normalise one last time",
        "$norm_name: after the last block the residual stream is normalised once more before the unembedding.",
        "$norm",
        r"\text{norm}",
        "$blocks blocks have written into these rows. What the model says of each token is read from its row.",
        "norm",
    ),
    "mlm-head": StageWords(
        "dense",
        "The head's dense layer",
        "The masked language model's head begins with one more linear layer, its activation and a norm.",
        r"y = \mathrm{norm}(\mathrm{act}(x\,W + b))",
        r"W",
        "As in BERT's published code; the paper (arXiv:1810.04805, section 3.1) names the softmax alone.",
        "embedding",
    ),
    "logits": StageWords(
        "logits",
        "Unembedding: a logit for every token",
        "The dot product of each row with a vector for each of the $vocab tokens of the vocabulary is that token's "
        "logit, its score.$logit_words",
        r"\ell = $logits",
        r"$table",
        "$row_words $tied",
        "embedding",
    ),
    "probabilities": StageWords(
        "softmax",
        "Scores become probabilities",
        "The same function as in attention: logits become probabilities that sum to 1 over the whole vocabulary.",
        r"p_t = e^{\ell_t} \Big/ \sum_u e^{\ell_u}",
        r"\text{softmax}",
        "A token whose logit is higher by 1 is e = 2.72 times as likely; by 5, e⁵ = 148 times.",
        "accent",
    ),
    "top-5": StageWords(
        "$answer",
        "The predicted next token",
        "The most likely tokens. To generate text, one of them is chosen and appended, and the model runs again.",
        r"p(t_{T+1} \mid t_1 \dots t_T)",
        r"\text{pick}",
        "A decoder generates text by doing this over and over (autoregressive). Change a word of the text and see the "
        "prediction change.",
        "accent",
    ),
}

_PLACES = StageWords(
    "relative",
    "Add the scores of relative positions",
    "$place_words That tells this model how far apart tokens are, in which direction, and whether it matters to these "
    "tokens.",
    r"S_{ij} \leftarrow S_{ij} + ($place_sum) \cdot $scale_words",
    r"+\,\text{relative}",
    "Unlike a bias of the distance alone, what is added differs along a diagonal, as it depends on the tokens, too "
    "(arXiv:2006.03654, equation 4).",
    "position",
)
# The parts of the way, as WalkStage.part names them.
PARTS = {"read": "reading", "attention": "attention", "feed-forward": "feed-forward", "predict": "predicting"}
# As the slider and links say them, where the name is more a programmer's than a reader's; links may say either.
SAID: dict[str, str] = {
    "scaling": "scale embeddings",
    "embedding-norm": "norm of embeddings",
    "embedding-projection": "projection of embeddings",
    "norm-1": "first norm",
    "qkv": "Q K V",
    "rotation": "RoPE",
    "scaled": "scaled scores",
    "softcap": "soft cap",
    "bias": "position bias",
    "values": "weighted sum of values",
    "concat": "concatenate heads",
    "output": "output projection",
    "norm-1-after": "norm after attention",
    "add-1": "first residual add",
    "norm-2": "second norm",
    "up": "up-projection",
    "activation": "activation function",
    "down": "down-projection",
    "norm-2-after": "norm after feed-forward",
    "add-2": "second residual add",
    "add-3": "third residual add",
    "norm-3": "third norm",
    "final-norm": "final norm",
    "mlm-head": "dense",
    "top-5": "prediction",
}
# What comes out at the other end of an encoder: tokens in the place of the masked one, or vectors alone.
_MASKED_SEE = (
    "Left is what goes in, spaces as dots; right is what comes out at the other end of the map: how likely each token "
    "is in the place of the masked one. Press Play, or the right arrow key, to see how the one becomes the other."
)
_VECTORS_SEE = (
    "This is what goes in, spaces as dots. At the other end of the map this model has a vector for each token. Press "
    "Play, or the right arrow key, to see how it gets there."
)
_FILLED = (
    "The most likely tokens at the masked position. A bidirectional model is trained to predict masked tokens; it does "
    "not generate text from left to right."
)
_FILLED_SEE = "Mask another token, or change a word before or after it, and see the prediction change."
_NORMS = {
    "rmsnorm": r"y = \frac{x}{\sqrt{\mathrm{mean}(x^2) + \epsilon}} \cdot g",
    "layernorm": r"y = \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}} \cdot g$shift",
}
_NORM_KEEPS = {
    "rmsnorm": "The pattern inside a row stays, apart from a learned factor for each column.",
    "layernorm": "The mean of each row is subtracted; otherwise its pattern stays, apart from what is learned for each "
    "column.",
}
_SINK = (
    " One more score b, learned by the head and the same for every token, takes part in the softmax: what goes to this "
    "sink goes to no token (arXiv:2508.10925, section 2.2)."
)
_ACTIVATIONS = {"gelu_tanh": "gelu", "swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu", "reglu": "relu"}
_ACTIVATIONS |= {"relu2": "relu^2", "xielu": "xIELU"}


def words(config: ModelConfig, stage: str, layer: int, answer: str = "") -> StageWords:
    """The words of a stage in a model, on the way through this layer's block to this answer."""
    plain, given = WORDS[stage], values_for_words(config, stage, layer, answer)
    if stage == "norm-1" and config.norm.placement == "post":  # it comes after attention there
        plain = _NORM
    if stage == "bias" and config.positions.kind == "disentangled":
        plain = _PLACES
    if stage == "bias" and config.positions.by_key:
        plain = replace(
            plain,
            sentence="A number that grows with the place of the key is added to each score, the same for all queries: "
            "a softmax sees only how far apart the keys are.",
            equation=r"S_{ij} \leftarrow S_{ij} + b_j",
            see="Each column changes by one and the same number, rounded to 16 bits.",
        )
    if stage == "characters" and config.architecture == "encoder":
        masked, vectors = r"p(\text{masked})", r"(y_1 \dots y_T)"
        ends, see = (masked, _MASKED_SEE) if config.scores_tokens else (vectors, _VECTORS_SEE)
        plain = replace(plain, equation=r"(c_1, c_2, \dots, c_n) \to " + ends, see=see)
    if stage == "top-5" and config.architecture == "encoder":
        plain = replace(
            plain,
            title="The predicted masked token",
            sentence=_FILLED,
            equation=r"p(t_i \mid \text{all others})",
            see=_FILLED_SEE,
        )
    return StageWords(**{name: Template(part).substitute(given) for name, part in asdict(plain).items()})


def values_for_words(config: ModelConfig, stage: str, layer: int, answer: str) -> dict[str, str | int]:
    """Name -> its value in the texts of a stage.

    Args:
        config, layer: the model, and the block that the walk goes through.
        stage: of the walk.
        answer: the most likely token, quoted.
    """
    gated = config.feed_forward.is_gated
    name = r"\mathrm{" + _ACTIVATIONS.get(config.feed_forward.activation, config.feed_forward.activation) + "}"
    scale = config.scale_of(layer)
    by_root = scale == config.head_size**-0.5
    norm = _NORMS[config.norm.kind].replace("$shift", " + b" if config.has_norm_bias else "")
    tied = (
        "The table is the one of the embeddings, turned round (tied)."
        if config.tie_embeddings
        else ("The table is another one than that of the embeddings (untied).")
    )
    return {
        "d_model": config.d_model,
        "embed_size": config.embed_size,
        "root_d_model": f"{config.d_model**0.5:.1f}",
        "vocab": f"{config.vocab_size}",
        "last_id": config.vocab_size - 1,
        "n_heads": config.attention.n_heads,
        "d_head": config.head_size,
        "d_q": config.attention.n_heads * config.head_size,
        "d_ff": config.ff_size,
        "norm": norm,
        "blocks": config.n_layers,
        "tied": tied,
        "answer": answer,
        "act_name": name,
        "norm_name": NORM_NAMES[config.norm.kind],
        "norm_keeps": _NORM_KEEPS[config.norm.kind],
        "before": f"After {layer} other {'block' if layer == 1 else 'blocks'}, each" if layer else "Each",
        "added": {"add-1": "attention", "add-3": "convolution"}.get(stage, "feed-forward"),
        "conv_width": 0 if config.input_convolution is None else config.input_convolution.width,
        "clip": "" if config.attention.clip is None else f"{config.attention.clip:g}",
        "softcap": "" if config.attention.softcap is None else f"{config.attention.softcap:g}",
        "scale_label": "÷ √d" if by_root else "scale",
        "scale_words": rf"\tfrac{{1}}{{\sqrt{{d_k}}}} = \tfrac{{1}}{{\sqrt{{{config.head_size}}}}}"
        if by_root
        else f"{scale:.4g}",
        "scale_sign": rf"\div\sqrt{{{config.head_size}}}" if by_root else rf"\times {scale:.4g}",
        "place_words": _place_words(config),
        "place_sum": _place_sum(config),
        "up": r"g = x\,W_{gate}, \quad u = x\,W_{up}" if gated else r"h = x\,W_{up}",
        "up_arrow": r"W_{gate},\,W_{up}" if gated else r"W_{up}",
        "act": _act(config, name),
        "table": _table(config),
        "logits": _logits(config),
        "logit_words": _logit_words(config),
        "up_words": _up_words(config),
        "act_words": _act_words(config),
        "mask_words": _mask_words(config, layer),
        "first_token": "" if config.architecture == "encoder" else "The first token can only attend to itself.",
        "row_sum": "less than 1" if config.attention.sinks else "1",
        "sink_words": _SINK if config.attention.sinks else "",
        "normaliser": r"\Big(e^{b} + \sum_j e^{S_{ij}}\Big)" if config.attention.sinks else r"\sum_j e^{S_{ij}}",
        "row_words": "Each row rates the tokens for its own position."
        if config.architecture == "encoder"
        else "Each row rates what may follow its own token, the last row what follows the text.",
        "ff_share": f"{feed_forward_share(config, layer):.0%}",
        "chosen_words": _chosen_words(config),
        "expert_words": _expert_words(config),
        "n_experts": config.experts.n_experts if config.experts else 0,
        "top_k": config.experts.top_k if config.experts else 0,
    }


def _place_words(config: ModelConfig) -> str:
    """What is compared with relative positions, in words."""
    queries = ["query is compared with where the key stands"] * config.positions.has_c2p
    keys = ["key is compared with where the query stands"] * config.positions.has_p2c
    return f"Each {' and each '.join(queries + keys)}: with a vector that is learned for each distance."


def _place_sum(config: ModelConfig) -> str:
    """The products with relative positions, as LaTeX: r is that of i as seen from j."""
    positions = config.positions
    terms = (r"q_i \cdot k^r_{i-j}" if positions.has_c2p else "", r"k_j \cdot q^r_{i-j}" if positions.has_p2c else "")
    return " + ".join(term for term in terms if term)


def _act(config: ModelConfig, name: str) -> str:
    """The activation function of a layer as an equation, with what is done to its halves before, where it is gated."""
    layer = config.feed_forward
    name = name if layer.gain == 1 else rf"{name}_{{{layer.gain:g}}}"
    if not layer.is_gated:
        return rf"h \leftarrow {name}(h)"
    gate, linear = "g", "u"
    if layer.limit is not None:
        gate, linear = rf"\min(g, {layer.limit:g})", rf"\mathrm{{clip}}(u, \pm {layer.limit:g})"
    linear = linear if layer.shift == 0 else rf"({linear} {layer.shift:+g})"
    return rf"h = {name}({gate}) \odot {linear}"


def _act_words(config: ModelConfig) -> str:
    """The effect of the activation function, and the layer without it."""
    if config.feed_forward.is_gated:
        return (
            "A non-linear function of the gate multiplies the other half, number by number. With the identity in its "
            "place the layer would be bilinear: a product of two linear maps of its input."
        )
    return (
        "A non-linear function of each number by itself. With the identity in its place, the layer's two matrices "
        "would be no more than one, their product."
    )


def _table(config: ModelConfig) -> str:
    return r"E^\top" if config.tie_embeddings else r"W_U^\top"


def _logits(config: ModelConfig) -> str:
    """The right side of the formula of logits."""
    factor = "" if config.logit_scale == 1 or config.head != "lm" else rf"{config.logit_scale:.4g}\,"
    logits = rf"{factor}x\,{_table(config)}" + (" + b" if config.has_logit_bias else "")
    cap = config.logit_softcap
    return logits if cap is None else rf"{cap:g}\tanh\big(({logits}) / {cap:g}\big)"


def _logit_words(config: ModelConfig) -> str:
    """Sentences on what else is done to logits."""
    scaled = config.logit_scale != 1 and config.head == "lm"
    said = (
        f" All are multiplied by {config.logit_scale:.4g}." if scaled else "",
        " Each token has a learned bias, which is added." if config.has_logit_bias else "",
        ""
        if config.logit_softcap is None
        else f" A soft cap bends them, so that none is above {config.logit_softcap:g}.",
    )
    return "".join(said)


def _up_words(config: ModelConfig) -> str:
    """The effect of the up-projection on each token."""
    each = f"{config.d_model} numbers become {config.ff_size}, {config.ff_size / config.d_model:.3g} times as many"
    if config.feed_forward.is_gated:
        return f"Two learned matrices, one for the gate and one for what it multiplies: in each, a token's {each}."
    return f"A learned matrix: a token's {each}."


def _mask_words(config: ModelConfig, layer: int) -> str:
    """The pairs that the mask of a layer allows."""
    causal = "A causal mask: a token attends to itself and to what came before it"
    kind = "A mask: a token attends to those near it" if config.architecture == "encoder" else causal
    window = config.window_of(layer)
    return f"{kind}." if window is None else f"{kind}, within a sliding window of {window} tokens."


def _chosen_words(config: ModelConfig) -> str:
    """The experts that a router chooses for a token."""
    if config.experts is None:
        return "its experts"
    best = "the expert" if config.experts.top_k == 1 else f"the {config.experts.top_k} experts"
    own = "its" if config.experts.top_k == 1 else "their"
    biased = f", after a bias of {own} own is added that counts for the choice alone"
    return f"{best} with the highest probability{biased if config.experts.bias_rate else ''}"


def _expert_words(config: ModelConfig) -> str:
    """How many experts a token goes through."""
    if config.experts is None:
        return "its experts"
    best = "the chosen expert" if config.experts.top_k == 1 else f"the {config.experts.top_k} chosen experts"
    shared = config.experts.n_shared
    always = "" if not shared else " and the shared expert" if shared == 1 else f" and the {shared} shared experts"
    return f"{best}{always}"
