"""Facts of the page “Your model”."""

from pages.facts import Facts

FACTS = Facts(
    key="your-model",
    title="Your model",
    icon="upload_file",
    order=40,
    question="Your own model, on every page",
    claim="A checkpoint is the weights of a model and its config. Give the name of one on the Hugging Face hub, or a "
    "folder: if it fits into memory, the pages here can show what is inside.",
    answers="Does it fit into memory? A model from the Hugging Face hub or a folder, on the pages here.",
    shows="the name of a model on the Hugging Face hub, or a folder: what it needs beside what is free, loaded with "
    "progress, its settings, a check of its tokenizer, a first continuation - and from then on it is offered on every "
    "page with a choice of model",
)
