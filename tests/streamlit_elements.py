"""A page with those elements of Streamlit that the app's styles name, and a server for it.

uvicorn tests.streamlit_elements:app
"""

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.routing import Route

CODE = """# a comment
@decorator
class Name:
    def function(self):
        return 1 + self.call("string", True)
"""
CHANGE = """ unchanged
-deleted
+inserted
"""


def draw() -> None:
    """The page: its elements as the app uses them."""
    st.caption("Words with [a link](https://example.org)")
    st.segmented_control("Choice", ["one", "two"], default="one")
    st.button("Loud", type="primary")
    st.code(CODE, language="python")
    st.code(CHANGE, language="diff")
    st.latex("x^2")
    st.title("Title")
    st.text_area("Text")
    st.text_input("Line")
    with st.popover("More"):
        st.write("Inside")
    with st.container(key="try-this"):
        st.button("Try this", key="keys-shortcuts")
    st.progress(0.5)
    with st.container(key="written text"):
        st.markdown("What a model wrote\n\n- a list")
    st.markdown("| claim |\n|---|\n| a sum |")
    with st.container(horizontal=True, key="in your text:container"):
        st.caption("In your text:")
    st.sidebar.write("Beside")
    with st.container(key="lesson_card"):
        st.write("A stop")
    with st.columns(2)[0], st.container(height=200, key="walk-box"):
        st.write("The end")


if __name__ == "__main__":  # run by Streamlit
    draw()
else:
    app = st.App(__file__, routes=[Route("/healthz", lambda _: PlainTextResponse("ok"))])
