// Colours of the theme: what their names mean, shades between the stops of a scale, and what can be read on them.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { colours, load } from "./browser.js"

const { coloured, legible, palette, shades, tint } = await load("colours.js")
beforeEach(() => {
  for (const name of Object.keys(colours)) delete colours[name]
})
const here = () => palette(document.body)

test("a dark paper makes the dark theme, and Streamlit's own colours count before ours", () => {
  assert.equal(here().roles.query, "#ff0000")
  Object.assign(colours, { "background-color": "#101010", "text-color": "#abcdef", "border-color": "unset" })
  const { paper, ink, grid, query } = here().roles
  assert.deepEqual({ paper, ink, grid, query }, { paper: "#101010", ink: "#abcdef", grid: "#cccccc", query: "#ff8080" })
})

test("names are those of roles, of categories, and of either as faint as said", () => {
  assert.equal(tint("@query", here()), "#ff0000")
  assert.equal(tint("@head4", here()), "#000002")
  assert.equal(tint("@attention/0.3", here()), "rgba(0,255,0,0.3)")
  assert.equal(tint("@nothing", here()), "#111111", "an unknown role is ink")
  assert.equal(tint("#123456", here()), "#123456")
})

test("a scale begins at the paper there is", () => {
  colours["background-color"] = "#fefefe"
  assert.deepEqual(coloured({ colorscale: "@weights" }, here()), { colorscale: [[0, "#fefefe"], [1, "#0000ff"]] })
  const found = shades(here(), "@weights")
  assert.deepEqual([found.length, found[0], found[100], found[200]], [201, "rgb(254,254,254)", "rgb(127,127,255)", "rgb(0,0,255)"])
})

test("shades pass through every stop", () => {
  const found = shades(here(), "@signed")
  assert.deepEqual([0, 50, 100, 150, 200].map(i => found[i]),
    ["rgb(0,0,255)", "rgb(128,128,255)", "rgb(255,255,255)", "rgb(255,128,128)", "rgb(255,0,0)"])
})

test("of paper and ink the one is written on a colour that stands out from it", () => {
  const { roles } = here()
  for (const light of ["#ffffff", "rgb(255,220,220)", "#00ff00"]) assert.equal(legible(light, roles), roles.ink)
  for (const dark of ["#111111", "rgb(0,0,255)", "#800000"]) assert.equal(legible(dark, roles), roles.paper)
  assert.equal(legible("#111111", { paper: "#000000", ink: "#eeeeee" }), "#eeeeee", "where these are others, it is another")
})
