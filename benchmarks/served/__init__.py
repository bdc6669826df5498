"""Apps of Streamlit alone, which the app is compared with."""
