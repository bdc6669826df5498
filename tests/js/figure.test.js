// Figures: the payload taken apart, colours of the theme, clicks and hovers sent, files saved.
import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { clock, colours, load, place, window } from "./browser.js"

const BAD = { data: ["bad"], layout: {} }
const react = mock.fn(async (plot, data) => {
  if (data[0] === "bad") throw new Error("no such axis")
  if (plot.on) return
  const handlers = {}
  plot.on = (name, handler) => (handlers[name] = handler)
  plot.emit = (name, event) => handlers[name](event)
  plot.innerHTML = '<svg><g class="hoverlayer"></g></svg>'
})
window.Plotly = { react, purge: mock.fn(), toImage: mock.fn() }
const { begin, render } = await load("figure.js")

const saved = []
URL.createObjectURL = blob => (saved.push({ blob }), "blob:1")
URL.revokeObjectURL = () => {}
window.HTMLAnchorElement.prototype.click = function () {
  saved.at(-1).name = this.download
}
let pass
beforeEach(() => {
  pass = clock()
  for (const name of Object.keys(colours)) delete colours[name]
  react.mock.resetCalls()
  window.Plotly.purge.mock.resetCalls()
  saved.length = 0
})

const HEAD = {
  height: 320, hash: 1, name: "map", alt: 'a "finding"', caption: "$x$ <b>", minWidth: 0, at: null, cursor: false,
  csv: true, file: false, click: true, select: true, hover: true, key: "map", v: "2", alone: false, open: true,
}
const SPEC = { data: [{ type: "heatmap", z: [1] }], layout: { height: 1 } }
const settled = () => new Promise(setImmediate)

async function shown({ head = {}, spec = SPEC, csv = "" } = {}) {
  const page = place()
  const show = async (now = {}) => {
    const body = new TextEncoder().encode(JSON.stringify(now.spec ?? spec))
    const facts = { ...HEAD, size: body.length, ...head, ...now.head }
    const first = new TextEncoder().encode(JSON.stringify(facts) + "\n")
    const data = new Uint8Array([...first, ...body, ...new TextEncoder().encode(now.csv ?? csv)])
    const end = render({ ...page, data }, facts, first.length)
    if (page.find(".tf-scroll")[0]) widen(page.find(".tf-scroll")[0], now.width ?? 600)
    page.resize()
    await new Promise(requestAnimationFrame)
    await settled()
    return end
  }
  const end = await show()
  const drawn = () => react.mock.calls.map(({ arguments: [, data, layout] }) => ({ data, layout }))
  const button = name => page.find("button").find(one => one.textContent === name)
  return { ...page, show, end, drawn, button, plot: page.find(".tf-plot")[0] }
}

// The first test: plotly runs once.
test("plotly waits for what the page begins with, where that is no figure", async () => {
  document.body.insertAdjacentHTML("beforeend", '<div id="tf-first" data-drawn=".tf-river path"></div><svg class="tf-river"></svg>')
  const [first, river] = document.querySelectorAll("#tf-first, .tf-river")
  const { drawn, show } = await shown()
  assert.equal(drawn().length, 0)
  river.innerHTML = "<path/>"
  await show()
  await show()
  assert.equal(drawn().length, 1)
  first.remove()
  river.remove()
})

test("a label that was empty can be drawn: Plotly took its element away", async () => {
  const { show, plot } = await shown()
  plot.innerHTML = '<svg><g class="textpoint"></g><g class="textpoint"><text>9.3</text></g></svg>'
  await show({ head: { hash: 2 } })
  assert.deepEqual([...plot.querySelectorAll(".textpoint")].map(point => point.children.length), [1, 1])
})

const widen = (node, width) => Object.defineProperty(node, "clientWidth", { value: width, configurable: true })
const cell = (more = {}) => ({ points: [{ curveNumber: 0, pointNumber: [1, 2], x: 2, y: 1, ...more }] })

test("the legend of a picture wider than its place stands above it, whole", async () => {
  const { show, plot, find } = await shown()
  plot.innerHTML = '<svg><g class="legend"><g class="traces"><g class="layers"><path d="M5,0h30"/></g><text class="legendtext">rises</text></g></g></svg>'
  await show({ head: { hash: 2, minWidth: 900 }, width: 390 })
  assert.deepEqual(find(".tf-legend span").map(one => [one.textContent, one.querySelectorAll("path").length]), [["rises", 1]])
  assert.equal(find(".tf-legend")[0].nextSibling, find(".tf-scroll")[0])
  assert.equal(plot.querySelector(".legend").style.visibility, "hidden")
  await show({ head: { hash: 3, minWidth: 300 }, width: 390 })
  assert.equal(find(".tf-legend").length, 0)
  assert.equal(plot.querySelector(".legend").style.visibility, "")
})

test("the figure follows the head, and its words are text", async () => {
  const { drawn, find } = await shown({ spec: { data: [{ text: ["é"] }], layout: {} } })
  assert.deepEqual(drawn()[0].data, [{ text: ["é"] }])
  assert.deepEqual(drawn()[0].layout, { width: 600, height: 320, autosize: false })
  assert.equal(find(".tf-picture")[0].getAttribute("aria-label"), HEAD.alt)
  assert.equal(find("figcaption")[0].textContent, HEAD.caption)
  assert.equal(find(".tf-picture")[0].style.height, "320px")
})

test("it is drawn again for a change of the figure, of the width and of the theme, and for nothing else", async () => {
  const { drawn, show } = await shown()
  await show()
  assert.equal(drawn().length, 1)
  await show({ head: { hash: 2 } })
  assert.equal(drawn().length, 2)
  await show({ head: { hash: 2 }, width: 500 })
  assert.equal(drawn().at(-1).layout.width, 500)
  colours["background-color"] = "#000000"
  await show({ head: { hash: 2 }, width: 500 })
  assert.equal(drawn().length, 4)
})

test("hidden in a tab nothing is drawn", async () => {
  const { drawn, show } = await shown({ head: { hash: 5 } })
  await show({ head: { hash: 6 }, width: 0 })
  assert.equal(drawn().length, 1)
})

test("what was drawn before the page was there is moved into it, and drawn again where the width is another", async () => {
  const bytes = body => new TextEncoder().encode(JSON.stringify({ ...HEAD, hash: 77, size: body.length }) + "\n" + body)
  for (const [width, times] of [[600, 1], [500, 2]]) {
    react.mock.resetCalls()
    const box = document.body.appendChild(document.createElement("div"))
    widen(box, width)
    assert.equal(await begin(box, bytes(JSON.stringify(SPEC)), "light"), true)
    const [plot] = box.querySelectorAll(".tf-plot")
    const page = await shown({ head: { hash: 77 } })
    assert.equal(page.plot, plot)
    assert.equal(page.drawn().length, times)
    plot.emit("plotly_click", cell())
    assert.equal(page.sent().length, 1, "its clicks are sent")
    assert.equal((await shown({ head: { hash: 77 } })).plot === plot, false, "once")
  }
})

test("what could not be drawn before the page was there is drawn by it", async () => {
  const box = document.body.appendChild(document.createElement("div"))
  const body = JSON.stringify(BAD)
  const bytes = new TextEncoder().encode(JSON.stringify({ ...HEAD, hash: 78, size: body.length }) + "\n" + body)
  assert.equal(await begin(box, bytes, "light"), false)
  const { drawn } = await shown({ head: { hash: 78 } })
  assert.deepEqual(drawn().at(-1).data, SPEC.data)
})

test("a wide picture keeps its width and is scrolled with the keys", async () => {
  const { drawn, find, show } = await shown({ head: { minWidth: 900, at: 700 } })
  const [scroll] = find(".tf-scroll")
  assert.equal(drawn()[0].layout.width, 900)
  assert.equal(scroll.getAttribute("tabindex"), "0")
  assert.equal(scroll.scrollLeft, 400, "the mark at 700 is in the middle")
  scroll.scrollLeft = 0
  await show({ head: { hash: 2 } })
  assert.equal(scroll.scrollLeft, 0, "who scrolled away is left there until the mark moves")
  await show({ head: { hash: 3, minWidth: 0 } })
  assert.equal(scroll.hasAttribute("tabindex"), false)
})

const COLOURED = {
  data: [{
    marker: { color: ["@query", "@c4", "#123456"], colorscale: "@weights" },
    line: { color: "@query/0.25" }, fillcolor: "@nothing", name: "@query", text: ["@ink"],
  }],
  layout: { paper_bgcolor: "@paper", font: { color: "@ink" }, colorway: ["@c0", "@c1"], coloraxis: { colorbar: { tickcolor: "@grid" } } },
}

test("role colours become those of the theme, wherever a property is a colour", async () => {
  const { drawn } = await shown({ spec: COLOURED })
  const [{ data: [trace], layout }] = drawn()
  assert.deepEqual(trace.marker.color, ["#ff0000", "#000002", "#123456"])
  assert.deepEqual(trace.marker.colorscale, [[0, "#ffffff"], [1, "#0000ff"]])
  assert.equal(trace.line.color, "rgba(255,0,0,0.25)")
  assert.equal(trace.fillcolor, "#111111", "an unknown role is ink")
  assert.deepEqual([trace.name, trace.text], ["@query", ["@ink"]], "tokens that look like roles stay")
  assert.equal(layout.paper_bgcolor, "#ffffff")
  assert.deepEqual(layout.colorway, ["#000001", "#000002"])
  assert.equal(layout.coloraxis.colorbar.tickcolor, "#cccccc")
})

test("a dark paper makes the dark theme, and Streamlit's own colours count before ours", async () => {
  Object.assign(colours, { "background-color": "#101010", "text-color": "#abcdef", "border-color": "unset" })
  const { drawn } = await shown({ spec: COLOURED })
  const [{ data: [trace], layout }] = drawn()
  assert.equal(trace.marker.color[0], "#ff8080")
  assert.equal(layout.font.color, "#abcdef")
  assert.equal(layout.paper_bgcolor, "#101010")
  assert.deepEqual(trace.marker.colorscale, [[0, "#101010"], [1, "#8080ff"]], "a scale begins at the paper there is")
})

test("a click is sent with what was clicked, if the page asks for clicks", async () => {
  const { plot, sent, show } = await shown()
  plot.emit("plotly_click", cell({ customdata: "layer 3" }))
  plot.emit("plotly_click", cell({ pointNumber: undefined, pointIndex: 4 }))
  assert.deepEqual(sent(), [
    ["click", { curve: 0, point: [1, 2], x: 2, y: 1, customdata: "layer 3" }],
    ["click", { curve: 0, point: 4, x: 2, y: 1, customdata: null }],
  ])
  await show({ head: { hash: 2, click: false } })
  plot.emit("plotly_click", cell())
  assert.equal(sent().length, 2)
  assert.equal(plot.classList.contains("tf-clickable"), false)
})

test("a box or a lasso sends the places within, taking it away none, and a click that draws none nothing", async () => {
  const { plot, sent, show } = await shown()
  plot.emit("plotly_selected", { points: [{ customdata: [3, 1] }, { customdata: [4, 0] }, {}] })
  plot.emit("plotly_selected", { points: [] })
  plot.emit("plotly_selected", undefined)
  plot.emit("plotly_deselect", null)
  assert.deepEqual(sent(), [["select", [[3, 1], [4, 0], null]], ["select", []], ["select", []]])
  await show({ head: { hash: 2, select: false } })
  plot.emit("plotly_selected", { points: [{ customdata: 1 }] })
  assert.equal(sent().length, 3)
})

test("what Plotly says of a box while a picture is drawn anew is not sent", async () => {
  const { sent, show } = await shown()
  react.mock.mockImplementationOnce(async plot => plot.emit("plotly_selected", { points: [] }))
  await show({ head: { hash: 2 } })
  assert.equal(react.mock.callCount(), 2)
  assert.deepEqual(sent(), [])
})

test("a hover is sent after the pointer rested, once", async () => {
  const { plot, sent } = await shown()
  plot.emit("plotly_hover", cell({ x: 1 }))
  pass(119)
  plot.emit("plotly_hover", cell())
  pass(119)
  assert.deepEqual(sent(), [])
  pass(1)
  plot.emit("plotly_hover", cell())
  pass(120)
  assert.deepEqual(sent(), [["hover", { curve: 0, point: [1, 2], x: 2, y: 1, customdata: null }]])
  plot.emit("plotly_hover", cell({ x: 9 }))
  plot.emit("plotly_unhover")
  pass(120)
  assert.equal(sent().length, 1)
})

test("row and column of the cell under the pointer are marked, within the plot", async () => {
  const { plot, find } = await shown({ head: { cursor: true } })
  const axis = offset => ({ _offset: offset, _length: 100, d2c: v => v, d2p: v => 20 * v, c2p: v => 20 * v })
  plot.emit("plotly_hover", cell({ x: 2, y: 0, xaxis: axis(30), yaxis: axis(50) }))
  const boxes = find(".tf-cursor").map(({ hidden, style }) => [hidden, style.left, style.top, style.width, style.height])
  assert.deepEqual(boxes, [[false, "30px", "50px", "100px", "10px"], [false, "60px", "50px", "20px", "100px"]])
  plot.emit("plotly_unhover")
  assert.deepEqual(find(".tf-cursor").map(box => box.hidden), [true, true])
})

test("what comes while a figure is drawn is drawn afterwards, the latest only", async () => {
  const { show, drawn } = await shown()
  let finish
  react.mock.mockImplementationOnce(() => new Promise(done => (finish = done)))
  await show({ head: { hash: 2 } })
  await show({ head: { hash: 3 }, spec: { data: [3], layout: {} } })
  await show({ head: { hash: 4 }, spec: { data: [4], layout: {} } })
  assert.equal(drawn().length, 2)
  finish()
  await settled()
  assert.deepEqual(drawn().slice(2).map(({ data }) => data), [[4]])
})

test("what fails later leaves the picture that is there", async () => {
  const { find, show, plot } = await shown()
  await show({ head: { hash: 2 }, spec: BAD })
  assert.equal(find(".tf-plot")[0], plot)
})

test("a figure that cannot be drawn says so, and the next one is drawn and can be clicked", async () => {
  const { find, show, sent } = await shown({ spec: BAD })
  assert.match(find(".tf-picture")[0].textContent, /could not be drawn \(no such axis\)/)
  await show({ head: { hash: 2 }, spec: SPEC })
  assert.equal(find(".tf-picture")[0].textContent, "")
  find(".tf-plot")[0].emit("plotly_click", cell())
  assert.equal(sent().length, 1)
})

test("the CSV that follows the figure is saved as it is", async () => {
  await shown({ head: { file: true }, csv: "\ufefftoken,weight\né,0.5\n" })
  assert.equal(saved[0].name, "map.csv")
  assert.deepEqual([...new Uint8Array(await saved[0].blob.arrayBuffer())], [...new TextEncoder().encode("\ufefftoken,weight\né,0.5\n")])
})

test("buttons are those that make sense, and CSV asks Python", async () => {
  const { button, sent, show } = await shown()
  assert.deepEqual(["CSV", "Embed", "Whole page"].map(name => button(name).hidden), [false, false, true])
  button("CSV").onclick()
  assert.deepEqual(sent(), [["download", "csv"]])
  await show({ head: { csv: false, alone: true } })
  assert.deepEqual(["CSV", "Embed", "Whole page"].map(name => button(name).hidden), [true, true, false])
})

test("a saved picture is what plotly draws, with its words around it", async () => {
  window.Plotly.toImage.mock.mockImplementation(async () =>
    "data:image/svg+xml," + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="600" height="320"><text>é,</text></svg>'))
  const { button } = await shown({ head: { title: "A map" } })
  button("SVG").onclick()
  await settled()
  const { blob, name } = saved.at(-1), picture = await blob.text()
  assert.deepEqual([name, blob.type], ["map.svg", "image/svg+xml"])
  assert.match(picture, /<text[^>]*>A map<\/text>.*<text>é,<\/text>.*https:\/\/app.test\/heads\?layer=1/s)
  assert.equal(window.Plotly.toImage.mock.calls.at(-1).arguments[1].format, "svg")
})

test("a saved page needs no network, and no text of a user ends its script", async () => {
  const asked = []
  globalThis.fetch = async url => (asked.push(url.replace(/.*\//, "")), { text: async () => "plotly('</script>')" })
  const spec = { data: [{ text: ["</script><b>"], marker: { color: "@query" } }], layout: {} }
  const { button, show } = await shown({ spec, head: { title: "</title> of 'x'", computed: "text <i>" } })
  button("HTML").onclick()
  await settled()
  const html = await saved[0].blob.text()
  assert.equal(saved[0].name, "map.html")
  assert.equal(html.match(/<\/script>/g).length, 2)
  assert.ok(html.includes("<title>&#60;/title&#62; of 'x'</title>"))
  assert.ok(html.includes('aria-label="a &#34;finding&#34;"'))
  assert.match(html, /<figcaption[^>]*>\$x\$ &#60;b&#62;<\/figcaption><p[^>]*>text &#60;i&#62;<\/p>/)
  assert.ok(html.includes('<a href="https://app.test/heads?layer=1">'))
  const written = JSON.parse(/const f=(.*?);Plotly/s.exec(html)[1])
  assert.deepEqual(written.data, [{ text: ["</script><b>"], marker: { color: "#ff0000" } }])
  await show({ head: { hash: 2 }, spec: { data: [{ type: "bar" }, { type: "treemap" }], layout: {} } })
  button("HTML").onclick()
  await settled()
  assert.deepEqual(asked, ["plotly-cartesian.min.js", "plotly.min.js"]) // the small one draws no treemap
})

test("the frame to paste shows this figure of this view, its words escaped", async () => {
  const copied = []
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => copied.push(text) }, configurable: true })
  const { button, find } = await shown()
  button("Embed").onclick()
  await settled()
  const frame = place(copied[0]).find("iframe")[0]
  assert.equal(frame.src, "https://app.test/heads?layer=1&v=2&embed=true&figure=map")
  assert.equal(frame.title, HEAD.alt)
  assert.match(find(".tf-note")[0].textContent, /^Copied/)
  pass(8000)
  assert.equal(find(".tf-note")[0].textContent, "")
})

test("Escape closes the menu and gives the focus back", async () => {
  const { find, button } = await shown()
  const [details] = find("details")
  details.open = true
  button("PNG").dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true }))
  assert.equal(details.open, false)
  assert.equal(document.activeElement, find("summary")[0])
})

test("what is gone is cleared, also while it is drawn", async () => {
  const { end, parentElement, plot } = await shown()
  end()
  assert.equal(parentElement.children.length, 0)
  assert.deepEqual(window.Plotly.purge.mock.calls[0].arguments, [plot])
  let finish
  react.mock.mockImplementationOnce(() => new Promise(done => (finish = done)))
  const late = await shown()
  late.end()
  finish()
  await settled()
  assert.equal(window.Plotly.purge.mock.callCount(), 2)
})
