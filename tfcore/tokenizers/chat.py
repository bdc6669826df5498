"""A conversation as the text, and the tokens, that a model was trained to continue: its chat template.

A template is a program in Jinja that comes with a model. It is run as `transformers` runs it, in Jinja's sandbox; one
of a model that was not installed with the app, in the process of the model's tokenizer besides (isolated.py), which has
limits, and so is the search for special tokens in what it writes.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, runtime_checkable

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tfcore.tokenizers.tokenizer import Tokenizer, unmarked

Role = Literal["system", "user", "assistant"]
LONGEST_TEMPLATE = 100_000  # characters
NO_NAMES: Mapping[str, str] = {}
_GUARD = "\U000f0000"  # of private use: keeps a special token that somebody typed from being one


class ChatError(ValueError):
    """A template cannot be used for a conversation; the message says why in one sentence."""


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Role
    content: str


@runtime_checkable
class Converses(Protocol):
    """A tokenizer that runs templates where it runs itself."""

    def conversation(self, template: str, messages: "Sequence[Message]", names: Mapping[str, str]) -> "list[ChatToken]":
        """See conversation."""


@dataclass(frozen=True, slots=True)
class ChatToken:
    """One token of a conversation.

    Args:
        id: of the token.
        role: whose words it is part of; None for what the template puts around them.
    """

    id: int
    role: Role | None


def render(template: str, messages: Sequence[tuple[str, str]], names: Mapping[str, str] = NO_NAMES) -> str:
    """The text of a conversation, up to where the assistant is to write.

    Args:
        template: in Jinja.
        messages: role and content of each.
        names: what a template may call special tokens ("bos_token"), and the text of each.

    Raises:
        ChatError: the template fails, or refuses such a conversation.
    """
    if len(template) > LONGEST_TEMPLATE:
        raise ChatError(f"its chat template has {len(template):,} characters; at most {LONGEST_TEMPLATE:,} are run")
    extensions = [_Generation, loopcontrols]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": lambda form: datetime.now().strftime(form)}
    listed = [{"role": role, "content": content} for role, content in messages]
    try:
        return environment.from_string(template).render(
            **(dict(names) | {"messages": listed, "add_generation_prompt": True, "tools": None, "documents": None})
        )
    except TemplateError as error:
        raise ChatError(f"its chat template does not take this conversation: {error}") from error
    except Exception as error:  # a template is a program, which may fail in any way
        raise ChatError(f"its chat template fails: {type(error).__name__}") from error


def _refuse(sentence: str) -> NoReturn:
    raise TemplateError(sentence)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """In this order, too: templates may leave the names out."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Generation(Extension):
    """`{% generation %}`, with which a template marks what an assistant says, to train on that alone: the text itself,
    with a scope of its own, as in `transformers`."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller: Callable[[], str]) -> str:
        return caller()


def conversation(
    tokenizer: Tokenizer, template: str, messages: Sequence[Message], names: Mapping[str, str] = NO_NAMES
) -> list[ChatToken]:
    """The tokens of a conversation, up to where the assistant is to write. Special tokens in what somebody typed are
    text like any other.

    Args:
        template, names: see render.

    Raises:
        ChatError: the template fails, or refuses such a conversation.
        TokenizerError: it does so in the process of the tokenizer, or takes too much time or memory there.
    """
    if isinstance(tokenizer, Converses):
        return tokenizer.conversation(template, messages, names)
    said = guarded(messages, tokenizer.special_tokens)
    return tokens(tokenizer, render(template, said, names), said)


def guarded(messages: Sequence[Message], special: Mapping[str, int]) -> list[Message]:
    """The messages with every special token in their contents made text like any other, marked or not; `tokens` undoes
    it."""
    if not special:
        return list(messages)
    known, said = _pattern(special), [unmarked(message.content) for message in messages]
    hidden = [known.sub(lambda match: match[0][0] + _GUARD + match[0][1:], content) for content in said]
    return [Message(message.role, content) for message, content in zip(messages, hidden, strict=True)]


def tokens(tokenizer: Tokenizer, text: str, messages: Sequence[Message]) -> list[ChatToken]:
    """The tokens of a conversation that was rendered from guarded messages, and whose words each is.

    A token belongs to whom its first byte belongs to.
    """
    special, around = tokenizer.special_tokens, tokenizer.encode("")
    owners = _owners(text, messages)
    cut: list[ChatToken] = []
    at = 0
    for part in _pattern(special, "({})").split(text) if special else [text]:
        if part in special:
            cut.append(ChatToken(special[part], None))
        elif part:
            place = at
            for piece in filter(None, part.split(_GUARD)):
                for i in _without(tokenizer.encode(piece), around):
                    cut.append(ChatToken(i, owners[min(place, len(owners) - 1)]))
                    place += len(tokenizer.token_bytes(i))
        at += len(part.replace(_GUARD, "").encode("utf-8", "surrogatepass"))
    return cut


def _owners(text: str, messages: Sequence[Message]) -> list[Role | None]:
    """For each byte of the text, guards left out, whose words it is part of."""
    owners: list[Role | None] = [None] * len(text)
    at = 0
    for message in messages:
        for said in (message.content, message.content.strip()):  # some templates strip it
            if said and (start := text.find(said, at)) >= 0:
                owners[start : start + len(said)] = [message.role] * len(said)
                at = start + len(said)
                break
    owner_of_byte: list[Role | None] = []
    for owner, character in zip(owners, text, strict=True):
        owner_of_byte += [owner] * (0 if character == _GUARD else len(character.encode("utf-8", "surrogatepass")))
    return owner_of_byte


def _pattern(special: Mapping[str, int], form: str = "{}") -> re.Pattern[str]:
    return re.compile(form.format("|".join(map(re.escape, sorted(special, key=len, reverse=True)))))


def _without(ids: list[int], around: list[int]) -> list[int]:
    """Ids of a text without those that are put around every text."""
    if not around:
        return ids
    first = next((i for i, (one, other) in enumerate(zip(ids, around, strict=False)) if one != other), len(around))
    last = len(around) - first
    return ids[first : len(ids) - last] if last else ids[first:]
