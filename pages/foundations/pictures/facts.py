"""Facts of the page “Pictures”."""

from pages.facts import Facts

FACTS = Facts(
    key="pictures",
    title="Pictures",
    icon="image",
    order=45,
    question="What does attention see in a picture?",
    claim="A **Vision Transformer** reads the patches of a picture as a text model reads tokens, behind a learned "
    "class token. Nothing tells it what belongs together: its heads find objects and their ground by themselves.",
    answers="What does attention see in a picture? Any head of a Vision Transformer over your own picture; rollout.",
    shows="your own picture, or one drawn here, read by DINOv2 or a ViT of yours: the attention of any patch in any "
    "head laid over it, all heads of a layer, attention rollout, how far heads look by layer, what the class token and "
    "registers take, and the classes where a model has a head for them",
    terms={"patch": "", "register": ""},
)
