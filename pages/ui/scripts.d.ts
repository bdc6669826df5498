// What Python, Streamlit and plotly give to the scripts in this folder. For the type checker; browsers never load it.

interface Component<Data> {
  data: Data
  parentElement: HTMLElement
  setTriggerValue: Send
}

type Send = (name: string, value: unknown) => void

// ---- figure.js: bytes, of which the first line is this as JSON ----

// Of what can be embedded in another page.
interface FrameHead {
  key: string
  v: string
  alt: string
  alone: boolean // in a frame already
  open: boolean // other sites may show it
  title?: string // these four for files of it: of the view, its main finding, what it was computed from
  finding?: string
  computed?: string
  hint?: string // with which the caption ends, and which a file leaves out
  call?: Call | null // of the view
}

type Call = [view: string, said: Record<string, unknown>]

// ---- shelf.js ----

// A view with a note, as the shelf, a file and a link have it.
interface Pinned {
  page: string // its address: the key of the page, and what follows "?"
  query: string
  figure: string // its key on the page
  title: string
  from: string // the question of the page
  caption: string
  computed: string
  note: string // one's own
  call: Call | null
}

// A scene as a page of its own draws it: the name of its script, and what that draws.
interface LiveScene {
  module: string
  data: unknown
  height: number // pixels
}

// A figure as a page with several has it: what plotly draws, or a picture in HTML, and the scene that it is of.
interface Piece {
  said: import("./components/saving.js").Words
  figure?: { data: any[]; layout: object }
  image?: string
  scene?: LiveScene
}

interface Kept extends Pinned {
  id: string
  at: number // its place among the others
}

interface FigureHead extends FrameHead {
  height: number
  size: number // bytes of the figure as JSON, which follows; after it a CSV, if one was asked for
  hash: number
  name: string
  caption: string
  minWidth: number
  at: number | null
  cursor: boolean
  csv: boolean
  file: boolean
  click: boolean
  select: boolean
  hover: boolean
}

// ---- bars.js ----

interface BarsData {
  seq: number
  weights: number[]
  units: number
  names: string[]
  rows: string[]
  columns: string[]
  label: string
  hue: number
  height: number
  top: number
  fixed: boolean
}

// ---- the scene stage.js ----

interface StageData {
  steps: string[]
  labels: string[]
  at: number // the step that is shown
  tokens: string[]
  width: number // numbers of a vector
  queries: number[][] // after each step that changes them; whole numbers, a row a token
  keys: number[][]
  values: number[]
  output: number[]
  scores: number[][] // after each step that changes them
  allowed: number[]
  weights: number[]
  stories: string[] // of each token
  label: string
  height: number
}

// ---- the scene line_map.js ----

interface Stop {
  label: string
  title: string
  role: string
  beside: boolean
  branch: string
  carried: boolean
  under: boolean
}

interface Area {
  first: number
  last: number
  title: string
  role: string
}

// Layers between two stops, which have none of their own.
interface Fold {
  before: number // stop
  title: string
  words: string
}

interface LineMapData {
  stops: Stop[]
  parts: Area[]
  folds: Fold[]
  value: number
  label: string
}

// ---- scene.js ----

interface SceneData {
  module: string
  data: unknown
  height: number
  caption: string
  head: FrameHead
}

interface Scene {
  draw: (element: HTMLElement, data: any, tell?: Send) => () => void
  picture?: (element: HTMLElement) => SVGSVGElement | HTMLCanvasElement | null // as it is now, for a file
  film?: (element: HTMLElement) => Film | null
}

// A figure of plotly for plot.js: with colours by role, its height in pixels and its least width.
interface PlotData {
  figure: { data: unknown[]; layout: object }
  height: number
  least: number
}

// What anywidget gives to widget.js: values that Python has, too.
interface NotebookModel {
  get(name: string): any
  set(name: string, value: unknown): void
  save_changes(): void
  on(event: string, call: () => void): void
  off(event: string, call: () => void): void
}

// A movement: its milliseconds, and what shows a moment of it, from 0 to 1.
interface Film {
  lasts: number
  at: (moment: number) => void
  end: () => void // shows what was shown before
}

// ---- the scene parts_map.js ----

interface PartBox {
  label: string
  note: string
  role: string
  about: string
  marked: boolean
  across: "" | "gives" | "takes"
}

interface PartsMapData {
  stacks: { title: string; groups: { title: string; rows: PartBox[][] }[] }[]
  label: string
  urls?: Record<string, string> // by what parts are about
}

// ---- the scene planes.js ----

type XY = [number, number]

interface PlanesData {
  seq?: number // what a hand moves is answered with it
  points: XY[]
  tokens: string[]
  kinds: string[]
  planes: { title: string; label: string; kinds: string[] }[]
  marks: { plane: number; at: XY; title: string; strong: boolean }[]
  links: { plane: number; from: XY; to: XY; width: number }[]
  chosen: number | null
  limit: number
  step: number
}

// ---- the scene river.js: shares are of the state that is explained, which is 1 ----

interface RiverColumn {
  first: number
  last: number
  open: boolean
  ribbons: [query: number, key: number, share: number, head: number | null, cell?: [query: number, key: number]][] // a cell of which it is drawn for
}

interface RiverZoom {
  layer: number
  head: number | null
  weights: [query: number, key: number, weight: number][] | null // of the head
  pair?: [query: number, key: number] | null // the cell
  cell?: RiverCell | null // of the cell
}

interface RiverCell {
  q: number[] // both vectors, rotated where positions are
  k: number[]
  scale: number // of the sum of their products
  score: number // before the mask
  rest: string // what else there is in the score
  weight: number
}

interface RiverData {
  seq?: number // what a hand moves is answered with it
  tokens: string[]
  target: number
  kept?: number[] | null // tokens with a row of their own where there is little room; none given: all
  layers: string[] // names of the attention layers
  columns: RiverColumn[]
  stream: number[][] // before each layer and after the last one, by token
  feedforward: number[][] // by layer and token
  effects: number[][] // by layer and head: by how much what is measured falls without it
  exact: boolean[] // by layer: false where these are estimates
  largest: number // of the effects
  measure: string
  kinds: string[][] // by layer and head
  hues: Record<string, string> // kind -> role of the theme
  factors: Record<string, number> // "layer.head" -> what it is multiplied by
  guesses: ([token: string, probability: number] | null)[] // after each layer
  next: [token: string, probability: number][]
  former: number[] | null // their probabilities before heads or the drawing were changed
  drawing: string // how one of them is drawn; nothing where that is as the model says
  word: number | null // which of these is explained
  against: number | null // which of these it is compared with
  whole: string // what widths are shares of
  traced: boolean // whether that is the logit of `word`
  tracing: boolean // whether a click on a next token can make it so
  zoom?: RiverZoom | null // what is enlarged
  foldable?: boolean
  linked?: boolean // whether a click on a ribbon is told of
  choosing?: boolean // whether a click on a token is told of
  label: string
}

// ---- chips.js, copy_link.js, player.js: sent along with every change, so their types are here and not there ----

type BarPart = [words: string, share: number, colour: number | null, hatched: boolean]
type ColourPair = [light: string, dark: string]

interface ChipsData {
  tokens: string[]
  selected: number | null
  shade: number[] | null
  titles: string[] | null
  hues: number[] | null
  notes: string[] | null
  parts: BarPart[][] | null
  colours: ColourPair[] | null
  faint: boolean[] | null
  clickable: boolean
  label: string
}

type Chip = HTMLButtonElement // or a span, where chips are plain text

interface CopyLinkData {
  version: string // of the link
  always: Record<string, string>
  app: string // version
}

interface ViewTold {
  names: string[] // of the address, that carry texts
  examples: [name: string, text: string][]
  model: string | null
}

// Of copy_link.js: the address that Copy link copies, without these names of it; and the names of it that are the visitor's own texts.
interface ViewLink {
  address: (without: string[]) => string
  own: () => string[]
}

interface History {
  oneEntryEach?: boolean
}

interface AddressField extends HTMLInputElement {
  timer?: number
}

interface LessonRingData {
  target: string
  running: string // selects the app while a run of the page is under way
  lesson: string
  stop: number
}

interface LessonProgressData {
  told: string // what was told last, as the browser keeps it
}

interface LessonRing extends HTMLElement {
  ring?: HTMLElement
  timer?: ReturnType<typeof setInterval>
  stop?: string // that was brought into sight
  until?: number // when it no longer is by itself
  top?: number // where it was at the last look
}

interface PlayerData {
  low: number
  high: number
  value: number
  step: number
  label: string
  period: number
  everywhere: boolean
  speeds: boolean
}

interface PlayerGroup extends HTMLElement {
  playing?: boolean
  timer?: number
  listening: (event: KeyboardEvent) => void
}

// ---- colours: tfcore.charts.theme.browser_tables ----

interface Theme {
  roles: Record<string, string>
  categories: string[]
  scales: Record<string, [number, string][]>
}

interface Palette {
  roles: Record<string, string>
  table: Theme
  stamp: string
}

declare module "*/theme.js" {
  const themes: { light: Theme; dark: Theme }
  export default themes
}

// ---- plotly.js, as much of it as figure.js uses ----

interface PlotlyAxis {
  _offset: number
  _length: number
  d2p(value: unknown): number
  d2c(value: unknown): number
  c2p(value: number): number
}

interface PlotlyPoint {
  curveNumber: number
  pointNumber?: number | [number, number]
  pointIndex?: number
  x: unknown
  y: unknown
  customdata?: unknown
  xaxis: PlotlyAxis
  yaxis: PlotlyAxis
}

interface PlotlyEvent {
  points: PlotlyPoint[]
}

interface PlotlyElement extends HTMLElement {
  on(name: string, handler: (event: PlotlyEvent) => void): void
}

interface PlotlyLibrary {
  react(plot: HTMLElement, data: unknown, layout: unknown, config: object): Promise<unknown>
  purge(plot: HTMLElement): void
  toImage(plot: HTMLElement, options: object): Promise<string>
}

interface Window {
  Plotly: PlotlyLibrary
  viewLink?: ViewLink
}

// ---- shortcuts.js ----

interface Way {
  at: number // among the entries
  title: string
  key: string // of the page
}

interface KeysData {
  part: "keys"
  page: string
  see: string // what the words beside a figure begin with
}

interface FootData {
  part: "foot"
  page: string
  before: Way | null
  after: Way | null
  sections: string[]
  open: number // the section that is
  examples: string[]
}

type SearchEntry = [kind: "page" | "section" | "term" | "example", title: string, about: string, page: string]

declare module "*/entries.js" {
  const entries: SearchEntry[]
  export default entries
}
