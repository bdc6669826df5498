"""How many tokens an image, a film, a sound or a protein becomes."""

from collections.abc import Callable
from dataclasses import dataclass

RATE = 16_000  # samples a second, as speech models take them
CONV_STRIDE = 2  # frames in a token


def patch_count(side: int, patch: int) -> int:
    """How many patches a square image gives."""
    return (side // patch) ** 2


def frame_count(samples: int, hop: int) -> int:
    """How many frames `log_mel` makes."""
    return samples // hop


def tokens_of_frames(frames: int) -> int:
    """Tokens after a convolution of width 3 with stride 2, as in Whisper: 3,000 frames -> 1,500."""
    return -(-frames // CONV_STRIDE)


def window_count(steps: int, length: int, stride: int) -> int:
    """How many windows `cut_windows` makes."""
    return (steps - length) // stride + 2


def text(characters: int, per_token: float) -> int:
    """Text of so many characters, at so many characters a token, rounded up."""
    return -int(-characters // per_token)


def image(side: int, patch: int) -> int:
    """floor(H / P)^2 patches, and one token for the class in front (arXiv:2010.11929, section 3.1)."""
    return patch_count(side, patch) + 1


def video(frames: int, tubelet: int, side: int, patch: int) -> int:
    """Tubes of `tubelet` frames and P x P pixels: floor(T / t) floor(H / P)^2 (arXiv:2103.15691, section 3.2)."""
    return frames // tubelet * patch_count(side, patch)


def codes(side: int, factor: int, words: int) -> int:
    """One code for each factor x factor pixels, after the tokens of a description (arXiv:2102.12092, section 2)."""
    return (side // factor) ** 2 + words


def latent(side: int, factor: int, patch: int) -> int:
    """An image made `factor` times smaller by an autoencoder, then cut into patches (arXiv:2212.09748, section 3.2)."""
    return patch_count(side // factor, patch)


def sound(seconds: int, hop_ms: float) -> int:
    """A frame every `hop_ms`, halved by a convolution with stride 2 (arXiv:2212.04356, section 2.2)."""
    return tokens_of_frames(frame_count(seconds * RATE, round(RATE * hop_ms / 1000)))


def codec(seconds: int, rate: int, books: int) -> int:
    """`rate` frames a second, each written as one code from every codebook (arXiv:2210.13438, section 3.2)."""
    return seconds * rate * books


def protein(residues: int) -> int:
    """One token a residue, and one each for the beginning and the end (doi:10.1126/science.ade2574)."""
    return residues + 2


def dna(bases: int, pooled: int) -> int:
    """Bases after convolutions that pool `pooled` of them into one place (doi:10.1038/s41592-021-01252-x)."""
    return bases // pooled


def series(steps: int, length: int, stride: int) -> int:
    """Windows of a time series, its end padded by one stride (arXiv:2211.14730, section 3.1)."""
    return window_count(steps, length, stride) if steps >= length else 1


def robot(images: int, each: int) -> int:
    """The last few camera images, each squeezed into `each` tokens (arXiv:2212.06817, section 5.1)."""
    return images * each


def episode(steps: int) -> int:
    """Wished-for return, state and action of every step (arXiv:2106.01345, section 3)."""
    return 3 * steps


Number = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A number that decides the length: its name in the function, and the range worth looking at."""

    name: str
    label: str
    low: Number
    high: Number
    default: Number
    step: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Modality:
    """A kind of data that is read as a sequence of tokens.

    Args:
        name: of the kind.
        model: that reads it with the default numbers.
        token: what one token is.
        equation: LaTeX.
        count: the function that counts.
        knobs: its arguments.
        see: the view of this app that cuts one up, to be filled in with the numbers; empty if there is none.
    """

    name: str
    model: str
    token: str
    equation: str
    count: Callable[..., int]
    knobs: tuple[Knob, ...]
    see: str = ""

    def published(self) -> int:
        """The length with the default numbers."""
        return self.count(**{knob.name: knob.default for knob in self.knobs})


def _knob(name: str, label: str, low: Number, high: Number, default: Number, step: Number = 1) -> Knob:
    return Knob(name=name, label=label, low=low, high=high, default=default, step=step)


SEQUENCES: dict[str, Modality] = {
    "robot": Modality(
        name="Robot",
        model="RT-1",
        count=robot,
        token="a part of a camera image that a small attention layer picked out; the action is 11 more: seven for the "
        "arm, its gripper among them, three for the base and one for the mode, each one of 256 bins",
        equation=r"n = \text{images} \times \text{tokens per image}",
        knobs=(
            _knob("images", "Camera images looked back at", 1, 30, 6),
            _knob("each", "Tokens kept of each", 1, 81, 8),
        ),
    ),
    "series": Modality(
        name="Time series",
        model="PatchTST/42",
        count=series,
        token="a window of P steps, normalised",
        equation=r"n = \lfloor (L - P) / S \rfloor + 2",
        knobs=(
            _knob("steps", "Steps L", 64, 1024, 336, 8),
            _knob("length", "Window P", 1, 64, 16),
            _knob("stride", "Stride S", 1, 64, 8),
        ),
        see="tokens?part=series&points={length}&stride={stride}",
    ),
    "episode": Modality(
        name="Game",
        model="Decision Transformer",
        count=episode,
        token="a wished-for return, a state (for Atari: four frames of the screen as one vector) or an action",
        equation=r"n = 3 \times \text{steps}",
        knobs=(_knob("steps", "Steps looked back at", 1, 100, 30),),
    ),
    "protein": Modality(
        name="Protein",
        model="ESM-2 on ubiquitin",
        count=protein,
        token="an amino acid: one of 20, and a few rare ones",
        equation=r"n = \text{residues} + 2",
        knobs=(_knob("residues", "Residues", 10, 2_000, 76),),
        see="tokens?part=protein",
    ),
    "image": Modality(
        name="Image",
        model="ViT-B/16",
        count=image,
        token="a patch of P × P pixels, flattened: 3 P² numbers",
        equation=r"n = \lfloor H / P \rfloor^2 + 1",
        knobs=(_knob("side", "Side H (pixels)", 64, 512, 224, 32), _knob("patch", "Side P of a patch", 4, 64, 16, 2)),
        see="tokens?part=image&side={side}&patch={patch}",
    ),
    "latent": Modality(
        name="Picture to draw",
        model="DiT-XL/2",
        count=latent,
        token="a patch of a compressed image of 4 channels: 4 P² numbers; all are drawn together, in many steps",
        equation=r"n = \lfloor H / (f P) \rfloor^2",
        knobs=(
            _knob("side", "Side H (pixels)", 64, 1024, 256, 64),
            _knob("factor", "Made smaller f times", 4, 16, 8, 4),
            _knob("patch", "Side P of a patch", 1, 4, 2),
        ),
        see="tokens?part=image",
    ),
    "text": Modality(
        name="Text",
        model="a page of a book",
        count=text,
        token="a piece of a word, from a vocabulary of 32,000 to 256,000",
        equation=r"n = \lceil \text{characters} / \text{characters per token} \rceil",
        knobs=(
            _knob("characters", "Characters", 100, 20_000, 1_800, 100),
            _knob("per_token", "Characters per token", 1.0, 6.0, 4.0, 0.1),
        ),
        see="tokens?part=text",
    ),
    "codes": Modality(
        name="Picture in codes",
        model="DALL·E",
        count=codes,
        token="one of 8,192 codes for a square of f × f pixels, written line by line after the words",
        equation=r"n = (H / f)^2 + \text{words}",
        knobs=(
            _knob("side", "Side H (pixels)", 64, 512, 256, 64),
            _knob("factor", "Pixels f per code", 4, 32, 8, 4),
            _knob("words", "Tokens of the description", 0, 512, 256, 16),
        ),
        see="tokens?part=image",
    ),
    "sound": Modality(
        name="Speech to read",
        model="Whisper",
        count=sound,
        token="two columns of a spectrogram: how loud each of 80 pitches is within 20 milliseconds",
        equation=r"n = \tfrac{1}{2} \cdot \text{seconds} / \text{hop}",
        knobs=(_knob("seconds", "Seconds", 1, 60, 30), _knob("hop_ms", "Hop (ms)", 2.5, 30.0, 10.0, 2.5)),
        see="tokens?part=sound&seconds={seconds}&hop_ms={hop_ms}",
    ),
    "dna": Modality(
        name="DNA",
        model="Enformer",
        count=dna,
        token="128 letters, drawn together by convolutions",
        equation=r"n = \text{bases} / \text{pooled}",
        knobs=(
            _knob("bases", "Bases", 1_024, 262_144, 196_608, 1_024),
            _knob("pooled", "Bases per token", 1, 256, 128),
        ),
    ),
    "video": Modality(
        name="Film",
        model="ViViT-B/16x2",
        count=video,
        token="a tube: P × P pixels through t frames, 3 P² t numbers",
        equation=r"n = \lfloor T / t \rfloor \lfloor H / P \rfloor^2",
        knobs=(
            _knob("frames", "Frames T", 16, 128, 32, 2),
            _knob("tubelet", "Frames t in a tube", 1, 16, 2),
            _knob("side", "Side H (pixels)", 64, 512, 224, 32),
            _knob("patch", "Side P of a patch", 4, 64, 16, 2),
        ),
        see="tokens?part=image&side={side}&patch={patch}",
    ),
    "codec": Modality(
        name="Sound to make",
        model="EnCodec, 6 kbit/s",
        count=codec,
        token="one of 1,024 codes; each frame takes one from every codebook, each correcting the one before",
        equation=r"n = \text{seconds} \cdot \text{rate} \cdot \text{codebooks}",
        knobs=(
            _knob("seconds", "Seconds", 1, 60, 10),
            _knob("rate", "Frames per second", 25, 150, 75, 25),
            _knob("books", "Codebooks", 1, 32, 8),
        ),
        see="tokens?part=sound",
    ),
}
