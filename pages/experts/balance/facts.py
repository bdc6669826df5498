"""Facts of the page “Balance”."""

from pages.facts import Facts

FACTS = Facts(
    key="balance",
    title="Balance",
    icon="balance",
    order=20,
    question="Routing collapse and load balancing",
    claim="A router learns to send each character to one of eight experts. The chosen expert is trained, gets better, "
    "and is chosen more: without a balancing method the load can collapse onto one expert. Watch it happen, and "
    "compare five methods against it.",
    answers="Why does one expert get everything? A router trained live until it collapses, and five remedies.",
    shows="a router without a remedy, trained live until one expert gets nearly every letter, beside the same "
    "training with an auxiliary loss, a capacity, noise, expert choice or the loss-free bias: load, entropy, what is "
    "dropped and the loss over the same steps, all runs in one table",
    terms={"auxiliary loss": "", "capacity": "", "expert choice": "", "load balancing": ""},
    live=True,
)
