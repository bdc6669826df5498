"""Facts of the page “Sound”."""

from pages.facts import Facts

FACTS = Facts(
    key="sound",
    title="Sound",
    icon="graphic_eq",
    order=46,
    question="Where does a model listen when it writes a word?",
    claim="**Whisper's** encoder reads a log-mel spectrogram, its decoder writes what was said, **cross-attention** "
    "is all that joins them. Some of its heads move through the sound as it writes: read them, and they say when each "
    "word was spoken.",
    answers="Where does a model listen when it writes a word? Whisper's cross-attention over your own sound.",
    shows="your own sound, recorded or from a file, or one that is here, heard by Whisper: what it writes token by "
    "token, the cross-attention of any head over the spectrogram, all tokens by time with the moment at which each was "
    "said, heads ranked by how well they follow the sound, and the encoder's attention in time",
    terms={"log-mel spectrogram": ""},
)
