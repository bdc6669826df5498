"""Links from an entry or a claim to the views of this app that show it: "tokens?part=image&patch=32"."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

from pages.ui import controls, keys, places
from pages.ui.links import to as link_to

ARROW = ":material/arrow_outward:"


def parts(view: str) -> tuple[str, dict[str, str]]:
    """The page and the settings that a view names."""
    address = urlsplit(view)
    return address.path, dict(parse_qsl(address.query))


def links(views: Iterable[str], here: str, key: str) -> None:
    """A link for each view; one to the page `here` itself is a button that sets its controls."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**See it:**", width="content")
        for view in views:
            page, settings = parts(view)
            if page == here:
                st.button(
                    "on this page",
                    key=keys.own("button", f"{key} {view}"),
                    on_click=controls.set_values,
                    kwargs=settings,
                )
            elif (place := places.known(page)) is not None:
                link_to(place.file, settings, icon=ARROW)
