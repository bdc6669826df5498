"""The page on long context: sparse attention by blocks that each query chooses, on a text of the visitor's."""

from pages.ui import controls, notices, page
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from tfcore.views.inference import long_context as views
from tfcore.views.inference.long_context.measure.chosen import BlockConfig
from tfcore.views.inference.long_context.say import chosen as say

CHARACTERS = 4_000
TEXT = (
    "Once upon a time there was a little girl named Lily. She lived in a small house near a big lake with her mom and "
    "her cat, Tom. One day Lily found a shiny red boat under a tree. She put the boat on the water and it went far "
    "away. Lily was sad. Tom saw a big bird on the lake. The bird took the boat in its mouth and brought it back. Lily "
    "was very happy. She gave the bird some bread and said thank you. From that day on, Lily and Tom went to the lake "
    "every morning, and the bird played with the red boat."
)


def blocks() -> None:
    """The weight that is kept, the loss, and the map of one head with the blocks that it chooses."""
    with panel() as p:
        p.examples(
            {
                "one block besides its own": {"blocks": 2, "size": 16},
                "small blocks": {"size": 4, "blocks": 8},
                "and the first block": {"blocks": 2, "size": 16, "first": True},
                "all of them": {"size": 32, "blocks": 8},
            }
        )
        with p.controls:
            row = controls.text_row()
            model = models.choose("decoder", reads="a head")
            text = text_box(model, "Text", "passage", TEXT, CHARACTERS, height=140, row=row)
            config = BlockConfig(
                size=controls.slider("Block size (tokens)", "size", 4, 32, 16, 4),
                count=controls.slider("Blocks a query reads, its own among them", "blocks", 1, 8, 3),
                first=controls.toggle("The first block, too", "first", help="It holds the attention sink."),
            )
        tokens = views.block_text_of(model, text)
        notices.tokens(tokens.total, len(tokens.ids), which="last")
        if len(tokens.ids) < 2:
            say_nothing_read(model, text, "passage", "The loss needs a text of at least two tokens.")
            return
        result = views.block_attention_of(model, text, config)
        telling, heads = result.telling, result.kept["chosen"].shape[1]
        with p.controls, page.more_settings():
            layer = controls.layer_among(result.layers, telling[0], key="in_layer")
            head = controls.place("Head", "in_head", heads, telling[1])
        with p.picture:
            p.show(views.block_map(model, text, config, layer, head))
            p.show(views.blocks(model, text, config))
        p.what_to_see(
            "A query compares itself with one vector a block, the mean of its keys, and reads the keys of the best "
            f"blocks alone. {say.block_change(result)} The model was trained with full attention, so this is what the "
            "choice does to it, not what a model trained with it would lose; MoBA and NSA are trained so, and choose "
            "among blocks of 64 to 512 tokens of texts far longer. Many heads rest on the first token: where its block "
            "is not read, that weight goes elsewhere."
        )
        p.question(
            "A key that one query needs stands in a block of sixteen whose mean fits that query badly. What follows?",
            "The block is not chosen, and the key cannot be seen, however well it fits: a mean hides what differs "
            "within a block. Smaller blocks hide less and cost more means; the line of the heaviest blocks shows what "
            "a perfect choice of as many would keep.",
        )
