"""A protein as a sequence: one residue, one letter, one token."""

from collections import Counter
from dataclasses import dataclass

# The order of the ids of ESM-2 (doi:10.1126/science.ade2574, its published code); the first 20 are the amino acids.
SPECIAL = ("<cls>", "<pad>", "<eos>", "<unk>")
LETTERS = "LAGVSERTIDPKQNFYMHWCXBUZO.-"

# A usual grouping of amino acids by their side chains.
GROUPS = {
    "water-avoiding": "AVLIMFWC",
    "polar": "STNQYGPH",
    "positive": "KR",
    "negative": "DE",
    "unsure or rare": "XBUZO.-",
}
_GROUP = {letter: i for i, letters in enumerate(GROUPS.values()) for letter in letters}


@dataclass(frozen=True, slots=True)
class Protein:
    """A protein as a model reads it.

    Args:
        name: from the first line of a FASTA text; empty if there is none.
        residues: the letters.
        ids: one a letter, between those of <cls> and <eos>.
        groups: the place of each letter in GROUPS.
    """

    name: str
    residues: str
    ids: tuple[int, ...]
    groups: tuple[int, ...]


def read_protein(text: str) -> Protein:
    """Read a sequence of one-letter residues, plain or as FASTA; blanks are skipped, small letters are taken as large.

    Raises:
        ValueError: a letter that is no residue, a second protein, or nothing at all.
    """
    name = ""
    lines: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith(">"):
            if lines or name:
                raise ValueError("there are two proteins here; paste one at a time")
            name = line.lstrip()[1:].strip()
        else:
            lines.append(line)
    residues = "".join("".join(lines).split()).upper().removesuffix("*")
    if not residues:
        raise ValueError("there are no residues yet; paste a sequence such as MQIFVKTLTGK")
    for place, letter in enumerate(residues, start=1):
        if letter not in LETTERS:
            raise ValueError(
                f"letter {place} is {letter!r}, which is no amino acid; use {''.join(sorted(LETTERS[:20]))}"
            )
    ids = (0, *(len(SPECIAL) + LETTERS.index(letter) for letter in residues), 2)
    return Protein(name, residues, ids, tuple(_GROUP[letter] for letter in residues))


@dataclass(frozen=True, slots=True)
class ResidueCounts:
    """How often each residue occurs in a protein.

    Args:
        letters: the residues, by group, the frequent ones of each group first.
        counts: of each.
        groups: of each, the place in GROUPS.
        most: the most frequent residue; the one that comes first in the protein where several are.
    """

    letters: tuple[str, ...]
    counts: tuple[int, ...]
    groups: tuple[int, ...]
    most: str


def composition(protein: Protein) -> ResidueCounts:
    """Count the residues of a protein."""
    counts = Counter(protein.residues)
    letters = tuple(sorted(counts, key=lambda letter: (_GROUP[letter], -counts[letter])))
    most = max(counts, key=counts.__getitem__)
    return ResidueCounts(letters, tuple(counts[c] for c in letters), tuple(_GROUP[c] for c in letters), most)
