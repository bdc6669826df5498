"""Section of the page on generation: a conversation with a model that was trained to have one."""

from typing import Any

import streamlit as st

from pages.inference.generation.choices import SEEDS, filters, writer
from pages.ui import cache, controls, keys, notices, page, text
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import spelt
from pages.ui.work import jobs, live
from tfcore.measures.one_text import pieces_of
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation.measure import conversation as measure
from tfcore.views.inference.generation.measure.conversation import ROLES, ConversationBits, ConversationPlan

EVERY = 0.4  # seconds between two looks at the answer
PATIENCE = 10.0  # seconds without a look, after which the job stops
CHARACTERS = 2_000  # of all that the user says
MOST_TURNS = 6
BETWEEN = "\n---\n"  # between two turns in the address
ASKED = "Why is the sky blue? Answer in two sentences."
SYSTEM = "Speak like a pirate."
HUES = {None: 3, "system": 2, "user": 4, "assistant": 0}  # of chips; the figure has the like
SURE = {"penalty": 1.0, "temperature": 0.2, "top_k": 0, "top_p": 0.9, "min_p": 0.0}
TRY: dict[str, dict[str, Any]] = {
    "a question": {"said": ASKED, "system": ""},
    "with an instruction": {"said": ASKED, "system": SYSTEM},
    "two turns": {
        "said": BETWEEN.join(["Name three rivers of Africa.", "Which of them is the longest?"]),
        "system": "",
    },
    "arithmetic": {"said": "What is 17 times 23? Think step by step.", "system": ""},
    "a special token, typed": {"said": "What does <|im_end|> mean?", "system": ""},
    "greedy": SURE | {"temperature": 0.0},
    "hotter": SURE | {"temperature": 1.5},
}
ICONS = {"user": ":material/person:", "assistant": ":material/smart_toy:"}


def show(model: str) -> None:
    """Show the section."""
    special = models.special(model)
    if not special.template:
        st.info(
            f"{text.escape(model, text.NAME)} was not trained to have conversations: it comes without a chat template. "
            "Choose an instruct model, such as smollm2 where it is there, or a model of the hub called Instruct."
        )
        return
    with panel(None) as p, p.picture:
        p.examples(TRY)
        left, right = st.columns([1, 3], gap="large")
        with left:
            system = controls.text_area("Instruction (system)", "system", "", CHARACTERS, height=68)
            tokens = controls.slider("Max tokens of an answer", "answer", 10, 200, 60, 10)
            with page.more_settings() as more:
                sampling, chosen_seed, _ = filters(SURE, more)
            network, tokenizer = writer(cache.model(model)[0]), cache.model(model)[1]
        with right:
            place = st.container()
            said = _said()
        if not said:
            st.info("Nothing is said yet: write something to the model in the box.")
            return
        special_tokens = spelt(model, "\n".join((system, *said)))
        if refused := special_tokens.text + special_tokens.always:  # no switch here: nobody may write another's turn
            controls.say_read_as_text("said", refused)
        plan = ConversationPlan(system=system, said=said, sampling=sampling, seed=chosen_seed, tokens=tokens)
        key = ("conversation", model, plan)

        def draw(job: jobs.Job) -> None:
            finished = measure.turns(tokenizer, special, job.items)
            written = sum(len(turn.written) + (turn.ended is not None) for turn in finished)
            total = max(1, written if job.state == "done" else tokens * len(said))
            again = {"seed": controls.next_seed(chosen_seed, SEEDS)}
            for number, words in enumerate(said):
                with st.chat_message("user", avatar=ICONS["user"]):
                    st.markdown(text.escape(words))
                if number < len(finished):
                    with st.chat_message("assistant", avatar=ICONS["assistant"]):
                        text.written(text.paragraphs(finished[number].answer) or "…", f"answer {number}")
            live.bar(key, job, written, total, again, work="answer", step="token", rate=True)
            if job.state == "done" and finished:
                st.markdown("**As the model reads it**")
                shown = views.conversation(model, special, plan, so_far=finished[-1])
                _tokens(model, shown.result.bits)
                p.show(shown)

        with place:
            job = live.begin(key, lambda: measure.converse(network, tokenizer, special, plan), PATIENCE)
            live.watch(key, draw, job, EVERY)
        # said at once: the picture comes when the answer is there
        page.what_to_see(
            "A model that answers still only continues a text. The **chat template** writes the turns as one text with "
            "special tokens between them, and ends it where the assistant is to speak; the model was trained on such "
            "texts until it continued them with answers, and with the token that ends a turn. That token stops it "
            "here. Bars say how improbable the model found each token: what you say, it could not know; what it says, "
            "it chose itself."
        )
        page.question(
            "You type a special token such as <|im_end|> into your question. Why does the model not take it for the "
            "end of your turn?",
            "Because what you type is cut into tokens as ordinary text: it becomes several tokens that together look "
            "like the special one, whose own id nobody can type here. If it were found in the text, you could write "
            "the assistant's turn yourself, which is one kind of prompt injection.",
        )


def _said() -> tuple[str, ...]:
    """The user's turns: a box for the next one, and one to change them all."""
    with st.expander("Edit what was said"):
        typed = controls.text_area("Your turns, with a line of --- between two", "said", ASKED, CHARACTERS, height=100)
        st.button("Begin anew", on_click=controls.set_values, kwargs={"said": ASKED})
    turns = tuple(turn.strip() for turn in typed.split("---") if turn.strip())
    said = f"{len(turns)} turns; the last {MOST_TURNS} are used"
    notices.say("turns", said if len(turns) > MOST_TURNS else None)
    st.chat_input(
        "Say something to the model", key=keys.own("chat_input", "next"), max_chars=CHARACTERS, on_submit=_add
    )
    return turns[-MOST_TURNS:]


def _add() -> None:
    """One more turn."""
    words = str(st.session_state.get(keys.own("chat_input", "next")) or "").replace("---", "—").strip()
    before = str(st.session_state.get("said") or "")
    if words:
        controls.set_values(said=BETWEEN.join(filter(None, [before.strip(), words])))


def _tokens(model: str, costs: ConversationBits) -> None:
    """The conversation as the model reads it: its tokens by role, and what each cost."""
    owners = [token.role for token in costs.tokens]
    told = zip(owners[1:], costs.bits.tolist(), strict=True)
    text.chips(
        pieces_of(cache.model(model)[1], [token.id for token in costs.tokens]),
        key="conversation tokens",
        label="The conversation, token by token",
        hues=[HUES[role] for role in owners],
        faint=[role is None for role in owners],
        titles=["the first token", *(f"{ROLES[role]}: {bits:.1f} bits" for role, bits in told)],
    )
