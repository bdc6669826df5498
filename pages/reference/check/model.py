"""Questions on architectures and on what a model is made of."""

from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    Wrong,
)
from tfcore.views.reference.check.measure import model as numbers

SMALL = Experiment("parameters", "The count part by part, beside the formula.", {"model": "GPT-2 small"})
MIXTURE = Experiment("parameters", "46.7 B in all, 12.9 B active per token.", {"model": "Mixtral 8x7B"})
KINDS = Experiment("architectures", "Encoder, decoder and both, side by side, each at its task.")
MODERN = Experiment("modern", "One switch at a time, from 2017 to now.")
MEMORY = Experiment("parameters", "Memory for training, by what it holds.", {"model": "LLaMA 2 7B"})

QUESTIONS: tuple[Question, ...] = (
    ChoiceQuestion(
        name="bert or gpt",
        level=1,
        look=KINDS,
        ask="BERT or GPT: which of them can predict a masked word in the middle of a sentence from the words after it, "
        "and why?",
        right="BERT: its attention is bidirectional.",
        wrong=(
            Wrong(
                "GPT: it was trained on more text.",
                "Whatever the text, its causal mask blocks later tokens.",
                Experiment("masks", "The mask of a decoder.", {"kind": "causal"}),
            ),
            Wrong(
                "Both: attention covers all tokens.",
                "A decoder's mask blocks all pairs with a later key.",
                Experiment("masks", "The pairs that are left.", {"kind": "causal"}),
            ),
            Wrong(
                "Neither: that needs an encoder-decoder.",
                "An encoder alone predicts masked words.",
                Experiment("masks", "An encoder's mask: none.", {"kind": "bidirectional"}),
            ),
        ),
        because="BERT is an encoder without a causal mask, trained on masked words (arXiv:1810.04805); GPT is a "
        "decoder, trained to predict the next token.",
    ),
    ChoiceQuestion(
        name="cross",
        level=1,
        look=KINDS,
        ask="In cross-attention of a translator, where do queries, keys and values come from?",
        right="Queries from the decoder; keys and values from the encoder's output.",
        wrong=(
            Wrong("All from the encoder.", "Then the output would not depend on the translation so far."),
            Wrong(
                "Queries from the encoder; keys and values from the decoder.",
                "The decoder's tokens attend to the encoder's states, not the other way round.",
            ),
            Wrong(
                "All from the decoder.",
                "That is its self-attention; the source text would never be read.",
                Experiment("heads", "The self-attention of a decoder."),
            ),
        ),
        because="Each target token attends to the source (arXiv:1706.03762, section 3.2.3).",
    ),
    ChoiceQuestion(
        name="tied",
        level=1,
        look=Experiment("parameters", "The token embedding, and the model untied.", {"model": "GPT-2 small"}),
        ask="What does it mean that embeddings are tied?",
        right="Embedding and unembedding are one matrix.",
        wrong=(
            Wrong("All layers share their weights.", "That is another idea (ALBERT's); here one table has two uses."),
            Wrong(
                "Tokens that mean the same share a row.",
                "Every id has a row of its own.",
                Experiment("tokens", "Neighbours in the table.", {"part": "Embedding table"}),
            ),
            Wrong("The embeddings stay as they were drawn.", "They are trained, from both of their uses."),
        ),
        because="It saves V x d weights, 38.6 M in GPT-2 small (arXiv:1608.05859).",
    ),
    ChoiceQuestion(
        name="gqa",
        level=1,
        look=Experiment("kv-cache", "The cache under MHA, GQA and MQA.", {"part": "How large it is"}),
        ask="Why do modern decoders let several query heads share one KV head?",
        right="The KV cache, which must be read for every token, shrinks by that factor.",
        wrong=(
            Wrong(
                "To attend further back.",
                "The context is the same; only how many keys are kept differs.",
                Experiment("long-context", "What limits reach.", {"look": "Sparse patterns"}),
            ),
            Wrong(
                "To have fewer query heads.",
                "Query heads stay as many as before.",
                Experiment("heads", "What is shared, drawn.", {"show": "how heads are cut"}),
            ),
            Wrong("Shared keys make the model better.", "Quality falls a little; what is saved is memory."),
        ),
        because="Keys and values are kept for each token, queries are not (arXiv:2305.13245).",
    ),
    ChoiceQuestion(
        name="modern",
        level=2,
        look=MODERN,
        ask="Which of these changes between GPT-2 and LLaMA does NOT change the number of weights of a layer?",
        right="RoPE in place of learned positions.",
        wrong=(
            Wrong(
                "SwiGLU in place of GELU at the same width.",
                "It adds a third matrix.",
                Experiment("feedforward", "The count at matched widths.", {"panel": "Gates"}),
            ),
            Wrong(
                "Grouped queries in place of multi-head.",
                "Fewer keys and values mean narrower matrices.",
                Experiment("parameters", "LLaMA 2 70B against its layers.", {"model": "LLaMA 2 70B"}),
            ),
            Wrong("Leaving the biases out.", "That takes a few thousand parameters away from each layer.", SMALL),
        ),
        because="Learned positions stand before the first layer, and a rotation has no weights (arXiv:2104.09864).",
    ),
    OrderQuestion(
        name="model steps",
        level=1,
        look=Experiment("walkthrough", "One text through a real model.", {"stage": "tokens"}),
        ask="Put the stages of a text through a decoder in order.",
        steps=(
            "cut into tokens",
            "ids",
            "embedding",
            "blocks",
            "final normalisation",
            "unembedding to scores",
            "softmax",
        ),
        because="The final norm comes once, before the scores; the softmax makes them probabilities.",
    ),
    NumberQuestion(
        name="blocks",
        level=1,
        problem=numbers.block_weights,
        unit="parameters",
        look=SMALL,
        ask="A plain decoder has {layers} layers of width {d_model}, with $d_{{ff}} = 4d$. About how many weights are "
        "in its blocks? (No embeddings, biases or norms.)",
        hints={
            "attention only": "That is attention alone: the feed-forward layers add 8 d².",
            "feed-forward only": "That is the feed-forward layers alone: attention adds 4 d².",
            "no output": "Attention has four matrices: queries, keys, values and the output.",
            "one block": "That is one block.",
            "d for d squared": "Matrices have d² weights, not d.",
        },
        because="12 N d² = 12 x {layers} x {d_model}² = {answer:,.0f}.",
    ),
    NumberQuestion(
        name="whole",
        level=2,
        problem=numbers.all_weights,
        unit="parameters",
        look=SMALL,
        ask="A whole model has {layers} layers of width {d_model} in GPT-2's style, {vocab:,} tokens, {context:,} "
        "learned positions, embeddings tied. How many parameters?",
        hints={
            "embeddings": "The embeddings are missing: V x d, and the positions.",
            "twice": "Tied embeddings are one table, not two.",
            "no feed-forward": "The feed-forward layers are missing, 8 d² of each block.",
        },
        because="12 N d² + V d + positions, and a little for biases and norms: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="tables",
        level=1,
        problem=numbers.embedding_weights,
        unit="parameters",
        look=Experiment("parameters", "A model with a large vocabulary.", {"model": "Gemma 7B"}),
        ask="A vocabulary of {vocab:,} tokens, width {d_model}, embedding and unembedding **not** tied. How many "
        "weights are in both tables together?",
        hints={
            "one table": "That is one table; untied, there are two.",
            "squared": "A table has a row for every token.",
        },
        because="2 x {vocab:,} x {d_model} = {answer:,.0f}.",
    ),
    NumberQuestion(
        name="grouped",
        level=2,
        problem=numbers.grouped_attention,
        unit="parameters",
        look=Experiment("heads", "MHA, GQA and MQA with what is shared.", {"show": "how heads are cut"}),
        ask="Attention of width {d_model} with {heads} query heads of {d_head} and {groups} KV heads, no biases. How "
        "many weights does one layer of it have?",
        hints={
            "multi-head": "That is with a key and a value for every query head.",
            "keys only": "Values are as wide as keys: both count.",
            "no output": "The output matrix is missing.",
            "one group": "That is with a single KV head.",
        },
        because="2 d² for queries and output, 2 x d x {groups} x {d_head} for keys and values: {answer:,.0f}.",
    ),
    NumberQuestion(
        name="weights in bytes",
        level=1,
        problem=numbers.weight_bytes,
        unit="GB",
        look=MEMORY,
        ask="A model has {billions:.2f} billion parameters. How much memory do its weights take in bfloat16?",
        hints={
            "one byte": "bfloat16 has 16 bits: two bytes per value.",
            "four bytes": "That is float32.",
            "bits": "Those are bits: divide by 8.",
        },
        because="Two bytes each: {gb:,.1f} GB, decimal.",
    ),
    NumberQuestion(
        name="training memory",
        level=2,
        problem=numbers.training_bytes,
        unit="GB",
        look=MEMORY,
        ask="{millions:,.0f} million parameters are trained with AdamW in mixed precision (16-bit weights and "
        "gradients, two float32 moments, a float32 copy). How much memory is that, activations aside?",
        hints={
            "weights only": "Those are the weights alone.",
            "no optimiser": "AdamW's moments and the copy are missing.",
            "no copy": "The float32 copy of the weights is missing.",
            "no moments": "AdamW's two moments are missing.",
        },
        because="2 + 2 + 8 + 4 = 16 bytes per parameter: {gb:,.2f} GB (arXiv:1910.02054, section 3.1).",
    ),
    NumberQuestion(
        name="active",
        level=1,
        problem=numbers.mixture_active,
        unit="parameters",
        look=MIXTURE,
        ask="A mixture has {in_experts:,.1f} M parameters in its experts ({experts} in each layer) and {rest:,.1f} M "
        "elsewhere. A token goes to {top_k} of the {experts}. How many parameters does it use?",
        hints={
            "total": "That is all of them; a token leaves most experts alone.",
            "a share of all": "Only the experts are chosen: attention and embeddings are used by every token.",
            "only the experts": "The rest of the model is used, too.",
            "one expert": "That is with one expert per layer.",
        },
        because="{rest:,.1f} M + {in_experts:,.1f} M x {top_k} / {experts} = {millions_answer:,.1f} M.",
    ),
)
