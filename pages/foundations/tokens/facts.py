"""Facts of the page “Tokens”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="tokens",
    title="Tokens",
    icon="content_cut",
    order=10,
    question="What does a model read?",
    claim="Not letters, pixels or sounds: everything is first **cut into tokens**, and each token becomes one vector. "
    "How it is cut decides how long the sequence is, and what it costs.",
    answers="What does a model read? Text, images, sounds, series and proteins cut into tokens; BPE merge by merge.",
    shows="the same text as characters, bytes and the tokens of any model; merges replayed one by one on any word, or "
    "learned from your text; your picture as patches, a sound as frames, a CSV column as windows, a protein as "
    "residues, with what the length costs; the embedding table: neighbours, PCA, lengths, and why some models scale it",
    sections=Sections(
        label="Cut up",
        key="part",
        names={
            "text": "Text",
            "merges": "Merges, one by one",
            "learning": "Learning merges",
            "image": "Image",
            "sound": "Sound",
            "series": "Time series",
            "protein": "Protein",
            "embeddings": "Embedding table",
        },
    ),
    terms={
        "byte-pair encoding (BPE)": "part=merges",
        "embedding": "part=embeddings",
        "sequence": "",
        "token": "",
        "tokenizer": "",
        "vocabulary": "part=embeddings",
    },
    parts=("tokens", "embedding"),
)
