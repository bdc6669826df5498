"""A small table of texts that a visitor edits, uploads and downloads; as CSV it is in the link."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from pages.ui import controls, keys, links, text

LARGEST = 65_536  # bytes of a file that is read
SHORT = 100  # characters of a cell whose column is narrow


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table.

    Args:
        most: characters of a cell, by name of the column.
        rows: at most.
        characters: of the whole table as CSV.
    """

    most: dict[str, int]
    rows: int
    characters: int


@dataclass(frozen=True, slots=True)
class _Edited:
    """An editor: the table that it began with, what it gave last, its number, and the file that was read last."""

    begun: str
    given: str
    number: int = 0
    file: str = ""


def csv_table(
    label: str, key: str, default: str, columns: Columns, check: Callable[[str], object], *, hint: str = ""
) -> str:
    """The table as CSV, with a heading; rows of which a cell is empty are not in it yet, and the page says so.

    Args:
        check: raises a ValueError for a CSV that is no such table; its sentence refuses an uploaded file.
        hint: what a cell should hold.
    """
    value = controls.typed(key, default, columns.characters)
    held = links.visit().held
    now = held.get(key, _Edited(value, value))
    lost = (
        now.given != now.begun and keys.own("data_editor", _name(key, now)) not in st.session_state
    )  # the table was not drawn meanwhile
    if now.given != value or lost:  # another link, an example
        now = replace(now, begun=value, given=value, number=now.number + 1)
    place, row = st.container(), st.container(horizontal=True)
    with row, st.popover("Upload a CSV"):
        now = _uploaded(key, now, check, columns)
    begun = _frame(now.begun, columns)
    with place:
        st.caption(f"{label}. {hint}".strip())
        edited = _editor(label, _name(key, now), begun, columns)
        given = now.begun if edited.equals(begun) else _written(edited, columns)
        if len(given) > columns.characters:
            st.caption(f"The table has {len(given):,} characters; edits count up to {columns.characters:,}.")
            given = now.given
    with row:
        download("Download as CSV", given, f"{key}.csv")
    held[key] = replace(now, given=given)
    st.session_state[key] = given
    return controls.kept(key, given, default)


def _name(key: str, now: _Edited) -> str:
    return f"{key} editor {now.number}"


def _editor(label: str, key: str, begun: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """The table as it is now, every cell a text."""
    edited = st.data_editor(
        begun,
        key=keys.own("data_editor", key),
        num_rows="dynamic",
        hide_index=True,
        height=176,  # four rows
        column_config={
            name: st.column_config.TextColumn(name, max_chars=most, width=270 if most > SHORT else 90)
            for name, most in columns.most.items()
        },
        alt=label,
    )
    rows = [[cell.strip() for cell in row] for row in _cells(edited)]
    partly = [place for place, row in enumerate(rows, 1) if any(row) and not all(row)]
    if partly:
        st.caption(f"Row {partly[0]} is used as soon as none of its cells is empty.")
    return edited


def _uploaded(key: str, now: _Edited, check: Callable[[str], object], columns: Columns) -> _Edited:
    """The editor as it was, or begun anew with a file that has just come."""
    file = st.file_uploader(
        f"With the columns {', '.join(columns.most)}; up to 64 kB",
        type=["csv"],
        key=keys.own("file_uploader", f"{key} file"),
        max_upload_size=1,
    )
    if file is None or file.file_id == now.file:
        return now
    try:
        table = read_file(file.getvalue(), check, columns)
    except ValueError as problem:
        said = str(problem)
        st.warning(f"{text.escape(said[:1].upper() + said[1:], 300)}. The table stays as it was.")
        return now
    return _Edited(table, table, now.number + 1, file.file_id)


def read_file(data: bytes, check: Callable[[str], object], columns: Columns) -> str:
    """The text of an uploaded CSV.

    Raises:
        ValueError: it is too large, no text in UTF-8, or no such table.
    """
    if len(data) > LARGEST:
        raise ValueError(f"the file has {len(data):,} bytes; {LARGEST:,} are possible")
    try:
        table = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is no text in UTF-8; save it as “CSV UTF-8”") from None
    if len(table) > columns.characters:
        raise ValueError(f"the table has {len(table):,} characters; {columns.characters:,} are possible")
    check(table)
    return table


def download(label: str, table: str, name: str) -> None:
    """A button that downloads a table, as `csv_table` takes it."""
    st.download_button(
        label,
        table.encode("utf-8-sig"),
        name,
        "text/csv",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def _frame(table: str, columns: Columns) -> pd.DataFrame:
    """The cells of a CSV below its heading, as many as there can be; none where it is no CSV."""
    try:
        rows = list(csv.reader(io.StringIO(table.strip("\ufeff \r\n"))))[1 : columns.rows + 1]
    except csv.Error:
        rows = []
    across = len(columns.most)
    cells = [[*row[:across], *[""] * (across - len(row))] for row in rows]
    return pd.DataFrame(cells, columns=list(columns.most), dtype=str)


def _cells(edited: pd.DataFrame) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in edited.fillna("").itertuples(index=False)]


def _written(edited: pd.DataFrame, columns: Columns) -> str:
    """The rows without an empty cell as CSV, with the heading."""
    place = io.StringIO()
    table = csv.writer(place, lineterminator="\r\n")  # a carriage return in a cell is quoted only so
    table.writerow(columns.most)
    table.writerows(row for row in _cells(edited) if all(cell.strip() for cell in row))
    return place.getvalue()
