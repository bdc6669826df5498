"""Views as widgets of a notebook: their values change as one clicks, and redraw them where they are set. Scenes are
drawn by the scripts that draw them in the app.

    from tfcore.views import widgets

    w = widgets.RiverWidget(model, tokenizer, text)
    w                    # a click on a dot switches the head off
    w.off                # [[13, 8]]
    w.off = []           # and on again
    w.view               # the View: its findings, table, script, files

They need anywidget: `pip install ".[notebook]"`.
"""

import inspect
import json
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError(
        "widgets need anywidget: python -m pip install anywidget; views draw themselves without"
    ) from error

from tfcore.charts import bundle, scenes
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.views.foundations import heads
from tfcore.views.foundations.heads.measure.attention import Order, attention, first_look
from tfcore.views.inside import flow
from tfcore.views.inside.flow.measure.heads import HeadEffects, measure_heads, unmeasured
from tfcore.views.inside.flow.measure.passages import attention_layers, heads_there
from tfcore.views.inside.flow.measure.routes import read_factors, written_factors
from tfcore.views.kept import kept, while_drawn
from tfcore.views.model import parts
from tfcore.views.model.parts.measure import stacks
from tfcore.views.sources import Reading, as_taken, in_memory, opened
from tfcore.views.start import walkthrough
from tfcore.views.start.walkthrough.measure.heads import STEPS
from tfcore.views.start.walkthrough.measure.walk import walk_stages
from tfcore.views.view import Scene, View

LONGEST = 2_000  # characters of what a browser says of heads
LARGEST = 10**9  # number of a message
FIGURE = "plot"  # the script that draws figures
QUICK = 25e9  # floating-point operations that one waits for: about a quarter of a second


def _value(trait: Any) -> Any:
    """A value that clicks change, and that redraws where it is set."""
    return trait.tag(sync=True, value=True)


class ViewWidget(anywidget.AnyWidget):
    """A view of a text through a model that tells of what is done to it.

    Args:
        given: a model, its tokenizer and a text, or a name and a text, or a Reading.
        named: the same by name, and values of the widget at first.
    """

    module: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()  # values that say the same as another one
    # in one, as a notebook may tell of one value before it has the next
    shown: Any = traitlets.Dict({"drawn": 0}).tag(sync=True)
    told: Any = traitlets.List([0, "", None]).tag(sync=True)

    def __init_subclass__(cls, **more: Any) -> None:
        if "module" in vars(cls):  # each widget is of a class of its own, which anywidget makes
            plotly = bundle.CARTESIAN.read_text("utf-8") if cls.module == FIGURE else ""
            cls._esm, cls._css = scenes.widget(cls.module, plotly)
        super().__init_subclass__(**more)

    def __init__(self, *given: Any, **named: Any) -> None:
        values = {name: named.pop(name) for name in self.values() if name in named}
        signature = inspect.signature(_of_text)
        taken, rest = as_taken(signature.parameters, given, named)
        self.reading: Reading = signature.bind(*taken, **rest).arguments["reading"]
        self.config = opened(self.reading.model)[0].config
        self._results: dict[Hashable, Any] = {}
        self._versions, self._hearing = 0, False
        super().__init__()
        with while_drawn(self._results):
            self._begin()
            for name, value in values.items():
                setattr(self, name, value)
        self.redraw()
        for name in {*self.values()} - {*self.derived}:
            self.observe(self._on_value, name)

    @classmethod
    def values(cls) -> list[str]:
        """Names of the values."""
        return [name for name, one in cls.class_traits(value=True).items() if one.metadata["value"]]

    def redraw(self) -> None:
        """Draw what the values ask for; of a model in memory that was changed meanwhile, all of it anew."""
        if in_memory(self.reading.model):
            versions = sum(one._version for one in opened(self.reading.model)[0].parameters())
            if versions != self._versions:
                self._results.clear()
            self._versions = versions
        with while_drawn(self._results):
            view, more = self._view(), self._more()
        self.view = view
        words = {"alt": view.alt, "caption": view.caption}
        self.shown = {"drawn": self.drawn + 1, "data": {**_data(view), **more}, "height": view.height, **words}

    @property
    def drawn(self) -> int:
        """How often it was drawn."""
        return int(self.shown["drawn"])

    @property
    def data(self) -> dict[str, Any]:
        """What the script draws."""
        return dict(self.shown["data"])

    def _begin(self) -> None:
        """Set the values that follow from the model and the text."""

    def _view(self) -> View:
        raise NotImplementedError

    def _more(self) -> Mapping[str, Any]:
        """Data besides those of the view."""
        return {}

    def _hear(self, name: str, value: Any) -> None:
        """Set values by what was done to the picture; anyone can send anything."""
        raise NotImplementedError

    def _on_value(self, _change: object) -> None:
        if not self._hearing:
            self.redraw()

    @traitlets.observe("told")
    def _on_told(self, change: Any) -> None:
        match change.new:
            case [int(), str(name), value]:
                self._hearing = True
                with while_drawn(self._results), suppress(traitlets.TraitError):  # what is not there changes nothing
                    self._hear(name, value)
                self._hearing = False
                self.redraw()  # in any case: what is told may have moved the picture


def _data(view: View) -> Mapping[str, Any]:
    """What a script draws of a view."""
    if isinstance(view.chart, Scene):
        return view.chart.data
    return {"figure": json.loads(view.chart.to_json()), "height": view.height, "least": view.min_width}


def _of_text(reading: Reading) -> None:
    """What a widget is made of."""


def _within(name: str, given: Sequence[Any], below: Sequence[int]) -> None:
    """Refuse what is no place: too many numbers, or one that is not in 0 .. below - 1.

    Args:
        below: for each number, one more than the largest.
    """
    if len(given) > len(below) or any(one not in range(n) for one, n in zip(given, below, strict=False)):
        wanted = " and ".join(f"0 to {n - 1}" for n in dict.fromkeys(below))
        raise traitlets.TraitError(f"{name}={str(list(given))[:80]} is not in this model or text, which has {wanted}")


# ---- the river ----


def _estimated(reading: Reading, choice: int | None, explained: Quantity | None) -> HeadEffects:
    """The effects of all heads, estimated where that is possible and measuring takes long."""
    network, passage = flow.network(reading), flow.passage_of(reading, choice)
    if explained is None or network.config.architecture != "decoder":
        return unmeasured(network)
    return next(measure_heads(network, passage, explained))


_estimated_of = kept(_estimated, entries=8)


class RiverWidget(ViewWidget):
    """The flow of information (tfcore.views.inside.flow.river); a click on a head switches it off.

    Values:
        off: the heads that are off, as [layer, head].
        heads: all that are changed, as in "2.5*0 1.3*-1".
        token: place of the token whose prediction is traced back; None for the last.
        toward: id of the next token whose logit is traced, and of the one whose logit is taken off; none: the state is.
        layers: those drawn wide; none: those whose attention carried most.
        zoom: the layer that is enlarged, or it and a head, or both and the query and the key token of a cell.
        ribbon: the last one that was clicked: its layer, head, query and key; nothing is drawn by it.
    """

    module = "river"
    derived = ("off",)
    off = _value(traitlets.List())
    heads = _value(traitlets.Unicode())
    token = _value(traitlets.Int(None, allow_none=True))
    toward = _value(traitlets.List(traitlets.Int()))
    layers = _value(traitlets.List(traitlets.Int()))
    zoom = _value(traitlets.List(traitlets.Int()))
    ribbon = traitlets.Dict().tag(sync=True)
    _seq, _exact = 0, False

    def measure(self) -> None:
        """Measure the effects of all heads; until then they are estimates in a large model."""
        self._exact = True
        self.redraw()

    def _view(self) -> View:
        reading, explained = self.reading, self._explained()
        runs, tokens = self._layers * self._n_heads, len(flow.passage_of(reading, self.token).tokens)
        exact = self._exact or knock_outs.operations(flow.network(reading), runs, tokens) <= QUICK
        effects = (flow.effects_of if exact else _estimated_of)(reading, self.token, explained)
        toward = tuple(self.toward) if flow.can_trace(reading) else ()
        wide, near = tuple(self.layers), tuple(self.zoom)
        return flow.river(reading, self.token, 0.0, self.heads, toward, explained, None, wide, near, effects)

    def _more(self) -> Mapping[str, Any]:
        passage, many = flow.passage_of(self.reading, self.token), self._layers > flow.ALL_OPEN
        choosing = len(passage.choices) > 1 and self.config.architecture == "decoder"
        return {"seq": self._seq, "foldable": many, "linked": True, "choosing": choosing}

    @property
    def _layers(self) -> int:
        return len(attention_layers(self.config))

    @property
    def _n_heads(self) -> int:
        return self.config.attention.n_heads

    def _explained(self) -> Quantity | None:
        """What heads are measured on: the tokens that are traced, or the most probable next one."""
        if len(self.toward) == 2:
            return Quantity("difference", *self.toward)
        ranked = self.toward or flow.guesses_of(self.reading, self.token, "").ranked(1)
        return Quantity("prediction", ranked[0]) if ranked else None

    def _hear(self, name: str, value: Any) -> None:
        following, explained = flow.following(self.reading, self.token, self.heads), self._explained()
        columns, tokens = range(len(self.data["columns"])), range(len(self.data["tokens"]))
        match name, value:
            case "moved", {"heads": str(said), "seq": int(seq)} if seq in range(LARGEST):
                self._seq = seq
                factors, exact = read_factors(said[:LONGEST], heads_there(self.config))
                self.heads = written_factors(factors) if exact else self.heads
            case "word", int(place) if place in range(len(following)):
                self.toward = [] if self.toward[:1] == [following[place]] else [following[place]]
            case "against", int(place) if place in range(len(following)) and explained is not None:
                self.toward = list(dict.fromkeys((explained.token, following[place])))
            case "whole", _:
                self.toward = []
            case "open", int(place) if place in columns:
                river = self.view.result
                self.layers = river.opened_after(place) or river.opened
            case "zoom", str(said):
                numbers = [one for one in said[:LONGEST].split(".") if one]
                self.zoom = [int(one) for one in numbers if one.isdecimal()]
            case "token", int(place) if place in tokens:
                self.token = place
            case "ribbon", {"layer": int(), "head": int(), "query": int(), "key": int()}:
                self.ribbon = value

    @traitlets.observe("heads")
    def _on_heads(self, change: Any) -> None:
        factors, _ = read_factors(change.new, heads_there(self.config))
        self.off = sorted([*place] for place, factor in factors.items() if factor == 0)

    @traitlets.observe("off")
    def _on_off(self, change: Any) -> None:
        factors, _ = read_factors(self.heads, heads_there(self.config))
        others = {place: factor for place, factor in factors.items() if factor != 0}
        self.heads = written_factors(others | dict.fromkeys(map(tuple, change.new), 0.0))

    @traitlets.validate("heads")
    def _check_heads(self, proposal: Any) -> str:
        factors, exact = read_factors(proposal.value[:LONGEST], heads_there(self.config))
        if not exact:
            raise traitlets.TraitError(
                f"heads={proposal.value[:80]!r} cannot be read: it is layer.head*factor, as in '2.5*0 1.3*-1', of "
                f"{self._layers} layers with {self._n_heads} heads, with factors from -2 to 2"
            )
        return written_factors(factors)

    @traitlets.validate("off")
    def _check_off(self, proposal: Any) -> list[list[int]]:
        for one in proposal.value:
            if not isinstance(one, list | tuple) or len(one) != 2:
                raise traitlets.TraitError(f"off={str(proposal.value)[:80]} must be a list of [layer, head]")
            _within("off", one, (self._layers, self._n_heads))
        return sorted([*one] for one in proposal.value)

    @traitlets.validate("token", "toward", "layers", "zoom")
    def _check_places(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        below = {
            "token": [len(flow.passage_of(self.reading, None).choices)],
            "toward": [len(self.config.classes.labels) if self.config.classes else self.config.vocab_size] * 2,
            "layers": [self._layers] * self._layers,
            "zoom": [self._layers, self._n_heads] + [len(flow.passage_of(self.reading, self.token).tokens)] * 2,
        }
        _within(name, value if isinstance(value, list) else [] if value is None else [value], below[name])
        if name == "zoom" and (len(value) == 3 or (len(value) == 4 and self._cell(value) is None)):
            raise traitlets.TraitError(
                f"zoom={value} is no cell: it is layer, head, query and key, a token it may look at"
            )
        return value

    def _cell(self, place: Sequence[int]) -> object:
        return flow.cell_of(self.reading, self.token, self.heads, *place)


# ---- heads ----


class HeadMapWidget(ViewWidget):
    """All heads of a model, by what they do (tfcore.views.foundations.heads.head_map); a click on one chooses it.

    Values:
        layer, head: the one that is framed; at first the one with most to look at in the text.
    """

    module = FIGURE
    layer = _value(traitlets.Int())
    head = _value(traitlets.Int())

    def _begin(self) -> None:
        self.layer, self.head, _ = first_look(self.reading)

    def _view(self) -> View:
        return heads.head_map(self.reading, Order(), self.layer, self.head)

    def _hear(self, name: str, value: Any) -> None:
        layers, n_heads = map(range, _size(self.reading))
        match name, value:
            case "click", {"x": int(head), "y": int(layer)} if layer in layers and head in n_heads:
                self.layer, self.head = layer, head

    @traitlets.validate("layer", "head")
    def _check_place(self, proposal: Any) -> int:
        return _checked_place(proposal, _size(self.reading))


class PortraitWidget(ViewWidget):
    """One head as arcs over the text (tfcore.views.foundations.heads.portrait); a click on a word follows that one.

    Values:
        layer, head: of the model; at first those with most to look at in the text.
        token: the query token that is followed.
    """

    module = FIGURE
    layer = _value(traitlets.Int())
    head = _value(traitlets.Int())
    token = _value(traitlets.Int())

    def _begin(self) -> None:
        self.layer, self.head, self.token = first_look(self.reading)

    def _view(self) -> View:
        return heads.portrait(self.reading, self.layer, self.head, self.token)

    def _hear(self, name: str, value: Any) -> None:
        match name, value:
            case "click", {"customdata": int(token)} if token in range(self._tokens):
                self.token = token

    @property
    def _tokens(self) -> int:
        return len(attention(self.reading).queries)

    @traitlets.validate("layer", "head")
    def _check_place(self, proposal: Any) -> int:
        return _checked_place(proposal, _size(self.reading))

    @traitlets.validate("token")
    def _check_token(self, proposal: Any) -> int:
        _within("token", [proposal.value], [self._tokens])
        return int(proposal.value)


def _size(reading: Reading) -> tuple[int, int]:
    """Layers, and heads of each."""
    layers, n_heads, *_ = attention(reading).maps.patterns.shape
    return layers, n_heads


def _checked_place(proposal: Any, size: tuple[int, int]) -> int:
    """A layer, or a head, that is there.

    Args:
        size: layers, and heads of each.
    """
    name = proposal.trait.name
    _within(name, [proposal.value], [size[name == "head"]])
    return int(proposal.value)


# ---- a walk through a model ----


class WalkWidget(ViewWidget):
    """The stages of a text through a model as the stops of a line (tfcore.views.start.walkthrough.overview).

    Values:
        stage: the name of the stop where we are; `stages` lists them.
        layer: that is walked through.
    """

    module = "line_map"
    stage = _value(traitlets.Unicode("characters"))
    layer = _value(traitlets.Int())

    @property
    def stages(self) -> list[str]:
        """Names of all stops."""
        return [one.name for one in walk_stages(self.config, self.layer)]

    def _begin(self) -> None:
        self.layer, _ = walkthrough.first_head_of(self.reading.model, self.reading.text, walkthrough.TOKENS)

    def _view(self) -> View:
        return walkthrough.overview(self.reading.model, self.reading.text, self.stage, self.layer)

    def _hear(self, name: str, value: Any) -> None:
        if name == "to" and value in range(len(self.stages)):
            self.stage = self.stages[value]

    @traitlets.validate("stage")
    def _check_stage(self, proposal: Any) -> str:
        return _named("stage", proposal.value, self.stages)

    @traitlets.validate("layer")
    def _check_layer(self, proposal: Any) -> int:
        _within("layer", [proposal.value], [self.config.n_layers])
        return int(proposal.value)


class HeadWidget(ViewWidget):
    """One head at work, step by step on one stage (tfcore.views.start.walkthrough.head).

    Values:
        layer, head: of the model; at first those with the strongest look from one word of the text at another.
        step: the name of the step that is shown; `steps` lists them.
        cell: the last one that was clicked, as [query, key]; nothing is drawn by it.
    """

    module = "stage"
    layer = _value(traitlets.Int())
    head = _value(traitlets.Int())
    step = _value(traitlets.Unicode("softmax"))
    cell = traitlets.List(traitlets.Int()).tag(sync=True)

    @property
    def steps(self) -> list[str]:
        """Names of all steps."""
        there = {one.name for one in walk_stages(self.config, self.layer)}
        return [step for step in STEPS if step in there]

    def _begin(self) -> None:
        reading = self.reading
        self.layer, self.head = walkthrough.first_head_of(reading.model, reading.text, walkthrough.TOKENS)

    def _view(self) -> View:
        return walkthrough.head(self.reading.model, self.reading.text, self.step, self.layer, self.head)

    def _hear(self, name: str, value: Any) -> None:
        match name, value:
            case "to", int(place) if place in range(len(self.steps)):
                self.step = self.steps[place]
            case "cell", {"query": int(query), "key": int(key)}:
                self.cell = [query, key]

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> str:
        return _named("step", proposal.value, self.steps)

    @traitlets.validate("layer", "head")
    def _check_place(self, proposal: Any) -> int:
        return _checked_place(proposal, (self.config.n_layers, self.config.attention.n_heads))


def _named(name: str, value: str, known: Sequence[str]) -> str:
    """One of some names."""
    if value not in known:
        raise traitlets.TraitError(f"{name}={value[:80]!r} is not there; there are {', '.join(known)}")
    return value


class PartsWidget(ViewWidget):
    """The parts of a model as boxes (tfcore.views.model.parts.parts); the text is not read.

    Values:
        part: what the part that was clicked last is about; nothing is drawn by it.
    """

    module = "parts_map"
    part = traitlets.Unicode().tag(sync=True)

    def _view(self) -> View:
        return parts.parts(self.reading.model)

    def _more(self) -> Mapping[str, Any]:
        return {"urls": dict.fromkeys(self._about(), "#")}  # a box with an address can be clicked

    def _about(self) -> list[str]:
        return parts.about(stacks(self.config))

    def _hear(self, name: str, value: Any) -> None:
        if name == "part" and value in range(len(self._about())):
            self.part = self._about()[value]
