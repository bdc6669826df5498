"""Facts of the page “Fine-tuning”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="finetuning",
    title="Fine-tuning",
    icon="tune",
    order=40,
    question="Fine-tuning: what is learned, and what is forgotten?",
    claim="A trained model is trained further, on another text or towards a **preference**. Here it is `stories`, of "
    "2 million parameters, small enough to be tuned while you watch: on *Romeo and Juliet*, with all weights, the "
    "last layers or **LoRA**, or towards a reward, by DPO or a policy gradient.",
    answers="How is a trained model changed? All weights or LoRA and what is forgotten; DPO and reward hacking.",
    shows="`stories` trained on with a play: all weights, the last layers or LoRA of any rank; the loss on the play "
    "and on the old stories step by step, trained numbers and memory of gradients and optimiser, a continuation "
    "before and after, kept or trained while you watch; `stories` tuned towards a reward that one can read, by DPO or "
    "a policy gradient: reward against KL divergence for five β, with three seeds for the first reward, samples "
    "before and after, reward hacking named",
    sections=Sections(label="Look at", key="part", names={"tuning": "Another text", "preference": "A preference"}),
    terms={
        "catastrophic forgetting": "",
        "DPO": "part=preference",
        "fine-tuning": "",
        "LoRA": "",
        "policy gradient": "part=preference",
        "reward hacking": "part=preference",
        "RLHF": "part=preference",
    },
    live=True,
)
