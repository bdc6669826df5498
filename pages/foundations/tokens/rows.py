"""The panels on sequences that arrive as text but are not language: a column of numbers, a protein."""

import streamlit as st

from pages.foundations.tokens import cost
from pages.ui import cache, controls, page, text
from pages.ui.frame import panel
from tfcore.measures import token_counts
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.measure import protein as proteins
from tfcore.views.foundations.tokens.measure.signals import TableColumn, temperatures
from tfcore.views.foundations.tokens.say import signals as say

CSV = "day,temperature\n" + "".join(f"{i},{v:g}\n" for i, v in enumerate(temperatures().tolist(), 1))
CHARACTERS = 20_000  # of a table
LONGEST = 64  # steps of a window, and of a stride
FEW = "month;sales\nJan;12,5\nFeb;n/a\nMar;14,1\nApr;\nMay;15,8\nJun;17,2\nJul;16,9\nAug;18,4\nSep;broken\nOct;19,7\n"
UBIQUITIN = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
INSULIN = ">insulin, chains A and B with what joins them, human\nMALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGGGPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN"  # noqa: E501
RESIDUES = 2_000
HUES = (0, 1, 2, 4, 3)  # of the chips, by group: the colours of the bars beside them
COLUMNS, LETTERS = 50, 30  # of a table to choose from, and of the name of one
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 2048]


def column(pasted: str, index: int | None) -> TableColumn | str:
    """The numbers of a column, or what is wrong with the table."""
    try:
        return views.column_of(pasted, index)
    except ValueError as problem:
        return str(problem)


def series() -> None:
    """The panel on time series."""
    st.markdown("**Windows of the series become tokens** (patches): several consecutive values make one vector.")
    with panel((2, 3)) as p:
        p.examples(
            {
                "PatchTST": {"csv": CSV, "points": 16, "stride": 8, "window": 12},
                "no overlap": {"points": 16, "stride": 16},
                "one value per token": {"points": 1, "stride": 1},
                "whole weeks": {"csv": CSV, "points": 7, "stride": 7},
                "a table with gaps": {"csv": FEW, "points": 3, "stride": 1, "window": 1},
            }
        )
        with p.controls:
            pasted = controls.text_area("Numbers: one per line, or a CSV table", "csv", CSV, CHARACTERS, height=130)
            first = column(pasted, None)
            table = _choose_column(pasted, first) if isinstance(first, TableColumn) else first
        if isinstance(table, str):
            st.warning(text.escape(table[:1].upper() + table[1:], text.MESSAGE) + ".")
            return
        steps = min(len(table.values), views.STEPS)
        if steps < 2:
            st.info("One number is no series yet: paste at least two.")
            return
        with p.controls:
            length = controls.slider("Window P (steps)", "points", 1, min(LONGEST, steps), min(16, steps))
            with page.more_settings():
                stride = controls.slider("Stride S (steps)", "stride", 1, LONGEST, 8)
            at = controls.place("Window to look at", "window", token_counts.window_count(steps, length, stride), 12)
            st.caption(text.escape(say.column_report(table, views.STEPS)))
        with p.picture:
            p.show(views.series(pasted, table.index, length, stride, at))
            p.show(views.windows(pasted, table.index, length, stride, at))
        strides = sorted({s for s in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if s <= max(steps, stride)} | {stride})
        lengths = tuple(token_counts.window_count(steps, length, s) for s in strides)
        now = strides.index(stride)
        shown = views.cost(tuple(strides), lengths, now, "stride S", f"a stride of {stride}")
        cost.metrics(shown, now, "Tokens (windows)", "Values per token", str(length))
        p.show(shown)
        p.what_to_see(
            "The bars under the curve are the windows; with a stride shorter than the window they overlap. The series "
            "is first brought to mean 0 and deviation 1, so the model sees its shape and not its unit. Each row of the "
            "second picture is one token: rising stretches run from blue to red, falling ones from red to blue."
        )
        p.question(
            "336 steps, windows of 16 with stride 8: 42 tokens. How much does attention save against 336 tokens?",
            "Its maps have 42² = 1,764 cells instead of 336² = 112,896: 64 times fewer, the square of the stride.",
        )


def _choose_column(pasted: str, first: TableColumn) -> TableColumn | str:
    """The column of a table that has several."""
    if len(first.names) < 2:
        return first
    names = {i: f"{i + 1}: {text.shorten(text.visible(name), LETTERS)}" for i, name in enumerate(first.names[:COLUMNS])}
    return column(pasted, controls.select("Column", "column", list(names), min(first.index, len(names) - 1), names))


def protein() -> None:
    """The panel on proteins."""
    with panel(None) as p:
        p.examples(
            {
                "ubiquitin": {"residues": UBIQUITIN},
                "insulin, as FASTA": {"residues": INSULIN},
                "collagen repeats": {"residues": "GPPGPPGAPGPQGFQGPPGEPGEPGASGPMGPRGPPGPPGKNGDDGEAGKPG"},
                "a wrong letter": {"residues": "MQIFVJTLTGK"},
            }
        )
        pasted = controls.text_area("Residues, plain or FASTA", "residues", UBIQUITIN, RESIDUES, height=80)
        try:
            sequence = proteins.read_protein(pasted)
        except ValueError as problem:
            st.warning(text.escape(str(problem)[:1].upper() + str(problem)[1:], text.MESSAGE) + ".")
            return
        n = len(sequence.ids)
        lengths = tuple(sorted({*LENGTHS, n}))
        now = lengths.index(n)
        shown = views.cost(lengths, lengths, now, "tokens", f"{len(sequence.residues):,} residues")
        hues = [HUES[-1], *(HUES[group] for group in sequence.groups), HUES[-1]]
        text.chips(
            ["<cls>", *sequence.residues, "<eos>"],
            key="residue chips",
            hues=hues,
            notes=[str(i) for i in sequence.ids],
            label=f"{n} tokens with their ids",
        )
        said = say.protein_tokens(len(sequence.residues), len(cache.model("stories")[1].encode(sequence.residues)))
        st.caption(f"{text.escape(sequence.name, text.NAME)}: {said}" if sequence.name else str(said))
        cost.metrics(shown, now, "Tokens", "Letters per token", "1")
        left, right = st.columns(2, gap="large")
        with left:
            p.show(views.residues(pasted))
        with right:
            p.show(shown)
        st.markdown(
            "**A protein needs no learned vocabulary: it is written in 20 letters, and each residue is a token.**"
        )
        st.caption("ESM-2: doi:10.1126/science.ade2574; it was trained on up to 1,022 residues at a time")
        p.what_to_see(
            "One residue, one token, nothing is joined: a change of a single residue can break a protein, so none may "
            "hide inside a longer piece. The colours group residues by how their side chains behave. The price is "
            "length: titin, the longest human protein, has about 34,000 residues."
        )
        p.question(
            "Why does a model of proteins not learn merges, as one of language does?",
            "It could, but it is used for single residues: which one fits here, what happens if this one changes, "
            "which two are in contact. Each of these needs the residue as a token of its own, with its own row in "
            "every attention map.",
        )
