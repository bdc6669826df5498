"""Keys of widgets that are no controls: buttons, drawers, uploads, components.

Streamlit has one space of keys for a visitor's whole session, in which what controls hold is kept from page to page.
The key of a control is its name in the address, without a colon. Everything else is named here, after what it is, and
so meets neither a control nor anything of another kind, on whatever page.
"""


def own(kind: str, name: str) -> str:
    """The key of a widget that is no control.

    Args:
        kind: Streamlit's name of the widget, such as "button", or the component's.
        name: tells it from others of its kind on the same page.
    """
    return f"{name}:{kind}"
