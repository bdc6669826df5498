// `stories` in the browser, for the book: a text is cut into tokens, the decoder is computed straight down as in
// tfcore/minimal.py, and the attention of every head and the next tokens are drawn. A classic script, which works from a
// folder; window.tfStories is the checkpoint (tools/book.py): config, merges and the safetensors file.
(() => {
  const MOST = 96 // tokens of a text that are read: the last ones
  const SHOWN = 8 // next tokens
  const SCALE = "@weights"
  // Byte-level BPE as GPT-2 cuts words (arXiv:1909.00512); \s of JavaScript is not that of Unicode.
  const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu

  // ---- the tokenizer ----

  // Each byte has a sign that can be seen, as vocabularies of GPT-2's kind write them.
  const SIGNS = (() => {
    const seen = byte => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    let next = 256
    return [...Array(256).keys()].map(byte => String.fromCodePoint(seen(byte) ? byte : next++))
  })()
  const BYTES = new Map(SIGNS.map((sign, byte) => [sign, byte]))

  function tokenizer({ vocab, merges }) {
    const ranks = new Map(merges.map(([a, b], rank) => [`${a} ${b}`, rank]))
    const names = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b])
    const rank = (parts, i) => ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity
    const merged = word => {
      const parts = [...new TextEncoder().encode(word)].map(byte => SIGNS[byte])
      for (;;) { // the pair that was learned first, until there is none
        let best = 0
        for (let i = 1; i < parts.length - 1; i++) if (rank(parts, i) < rank(parts, best)) best = i
        if (rank(parts, best) === Infinity) return parts
        parts.splice(best, 2, parts[best] + parts[best + 1])
      }
    }
    const encode = text => (text.match(WORDS) ?? []).flatMap(merged).map(part => vocab[part])
    const decode = id => new TextDecoder().decode(Uint8Array.from([...names[id]].map(sign => BYTES.get(sign) ?? 63)))
    return { encode, decode }
  }

  // ---- the weights ----

  // Of float16, as a safetensors file has them: the length of the head, the head, the numbers.
  function tensors(base64) {
    const raw = Uint8Array.from(atob(base64), sign => sign.charCodeAt(0)), view = new DataView(raw.buffer)
    const length = Number(view.getBigUint64(0, true)), head = JSON.parse(new TextDecoder().decode(raw.slice(8, 8 + length)))
    const numbers = new Uint16Array(raw.slice(8 + length).buffer)
    return name => {
      const { dtype, data_offsets: [from, to] } = head[name]
      if (dtype !== "F16") throw new Error(`${name} is ${dtype}; this script reads float16`)
      return Float32Array.from(numbers.subarray(from / 2, to / 2), single)
    }
  }

  function single(bits) {
    const sign = bits >> 15 ? -1 : 1, power = (bits >> 10) & 31, part = bits & 1023
    return sign * (power ? 2 ** (power - 15) * (1 + part / 1024) : 2 ** -14 * (part / 1024))
  }

  // ---- the decoder ----

  // Rows of x (seq, width) times the rows of weights (out, width): (seq, out).
  function linear(x, weights, width) {
    const seq = x.length / width, out = weights.length / width, y = new Float32Array(seq * out)
    for (let t = 0; t < seq; t++) for (let o = 0; o < out; o++) {
      let sum = 0
      for (let i = 0, a = t * width, b = o * width; i < width; i++) sum += x[a + i] * weights[b + i]
      y[t * out + o] = sum
    }
    return y
  }

  // x / sqrt(mean(x^2) + eps) * weight
  function norm(x, weight, eps) {
    const width = weight.length, y = new Float32Array(x.length)
    for (let from = 0; from < x.length; from += width) {
      let sum = 0
      for (let i = 0; i < width; i++) sum += x[from + i] ** 2
      const by = 1 / Math.sqrt(sum / width + eps)
      for (let i = 0; i < width; i++) y[from + i] = x[from + i] * by * weight[i]
    }
    return y
  }

  // Rotary positions: pair (i, i + size / 2) of the vector at place t turned by t / base^(2i / size), in place.
  function rotate(x, at, row, size, base) {
    for (let t = 0; t * row < x.length; t++) for (let i = 0; i < size / 2; i++) {
      const angle = t * base ** (-2 * i / size), cos = Math.cos(angle), sin = Math.sin(angle)
      const a = t * row + at + i, b = a + size / 2, one = x[a], other = x[b]
      x[a] = one * cos - other * sin
      x[b] = other * cos + one * sin
    }
  }

  // The weights (query, key) of a head over the keys until the query's, and its values averaged by them, into `mixed`.
  function attend(qkv, seq, head, heads, size, mixed) {
    const row = 3 * heads * size, weights = new Float32Array(seq * seq)
    for (let t = 0; t < seq; t++) {
      const scores = [...Array(t + 1).keys()].map(s => {
        let sum = 0
        for (let i = 0, q = t * row + head * size, k = s * row + (heads + head) * size; i < size; i++) sum += qkv[q + i] * qkv[k + i]
        return sum / Math.sqrt(size)
      })
      const most = Math.max(...scores), powers = scores.map(one => Math.exp(one - most))
      const whole = powers.reduce((a, b) => a + b)
      powers.forEach((power, s) => {
        weights[t * seq + s] = power / whole
        for (let i = 0, v = s * row + (2 * heads + head) * size; i < size; i++) {
          mixed[(t * heads + head) * size + i] += power / whole * qkv[v + i]
        }
      })
    }
    return weights
  }

  // Token ids -> the logits of the next one, and of every layer and head the weights (query, key).
  function decoder({ n_layers: layers, n_heads: heads, d_model: width, norm_eps: eps, rope_base: base }, weight) {
    const names = ["ln1", "attn.qkv", "attn.out", "ln2", "mlp.up", "mlp.down"]
    const blocks = [...Array(layers).keys()].map(l => names.map(name => weight(`decoder.blocks.${l}.${name}.weight`)))
    const embed = weight("embed.weight"), last = weight("decoder.ln_final.weight"), size = width / heads
    return ids => {
      const seq = ids.length, patterns = []
      const x = new Float32Array(seq * width) // the residual stream
      ids.forEach((id, t) => x.set(embed.subarray(id * width, (id + 1) * width), t * width))
      const add = update => update.forEach((value, i) => { x[i] += value })
      for (const [ln1, inward, outward, ln2, up, down] of blocks) {
        const qkv = linear(norm(x, ln1, eps), inward, width), mixed = new Float32Array(seq * width)
        for (let h = 0; h < 2 * heads; h++) rotate(qkv, h * size, 3 * width, size, base)
        patterns.push([...Array(heads).keys()].map(h => attend(qkv, seq, h, heads, size, mixed)))
        add(linear(mixed, outward, width))
        const both = linear(norm(x, ln2, eps), up, width), inner = down.length / width, gated = new Float32Array(seq * inner)
        for (let t = 0; t < seq; t++) for (let i = 0; i < inner; i++) {
          const gate = both[2 * t * inner + i]
          gated[t * inner + i] = gate / (1 + Math.exp(-gate)) * both[(2 * t + 1) * inner + i]
        }
        add(linear(gated, down, inner))
      }
      return { logits: linear(norm(x.subarray((seq - 1) * width), last, eps), embed, width), patterns }
    }
  }

  // ---- what is seen ----

  const made = (tag, parent, words = "", name = "") => {
    const node = document.createElement(tag)
    node.textContent = words
    node.className = name
    parent.append(node)
    return node
  }

  function probabilities(logits) {
    const most = Math.max(...logits), powers = [...logits].map(one => Math.exp(one - most))
    const whole = powers.reduce((a, b) => a + b)
    return powers.map(one => one / whole)
  }

  const seen = token => token.replaceAll(" ", "·").replaceAll("\n", "⏎")

  function draw(box, tokens, { logits, patterns }, decode, colours) {
    const seq = tokens.length, chances = probabilities(logits)
    const best = [...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, SHOWN)
    box.replaceChildren()
    made("p", box, `Next after “${seen(tokens[seq - 1])}”:`)
    const list = made("ol", box, "", "next")
    for (const id of best) {
      const row = made("li", list)
      made("code", row, seen(decode(id)))
      row.append(` ${(100 * chances[id]).toFixed(1)} %`)
      row.style.setProperty("--share", `${100 * chances[id]}%`)
    }
    made("p", box, "Attention of every head: a row is a query token, a column a key token. Click one for its words.")
    const grid = made("div", box, "", "heads"), said = made("p", box)
    said.setAttribute("role", "status")
    patterns.forEach((heads, layer) => heads.forEach((weights, head) => {
      const button = made("button", grid), canvas = made("canvas", button)
      button.type = "button" // it sends no form
      Object.assign(canvas, { width: seq, height: seq })
      made("span", button, `L${layer} H${head}`)
      const pen = canvas.getContext("2d")
      weights.forEach((weight, i) => {
        pen.fillStyle = colours[Math.round(200 * weight)]
        pen.fillRect(i % seq, Math.floor(i / seq), 1, 1)
      })
      button.onclick = () => { said.textContent = strongest(tokens, weights, layer, head) }
    }))
  }

  // The strongest weight of the last token, beside that on the first token, which takes much in many heads.
  function strongest(tokens, weights, layer, head) {
    const seq = tokens.length, row = weights.slice((seq - 1) * seq), first = row[0]
    const key = row.indexOf(Math.max(...row.slice(1)), 1)
    const other = key < 0 ? "" : `to “${seen(tokens[key])}” (token ${key}) with weight ${row[key].toFixed(2)}, and `
    return `Layer ${layer}, head ${head}: “${seen(tokens[seq - 1])}” attends ${other}to the first token with ${first.toFixed(2)}.`
  }

  // The model, read once, when it is first asked for.
  let loaded = null
  const model = () => loaded ??= new Promise((done, failed) => {
    const script = document.createElement("script")
    script.src = "stories-weights.js"
    script.onerror = () => failed(new Error("stories-weights.js is not beside this page"))
    script.onload = () => done(window.tfStories)
    document.head.append(script)
  }).then(({ config, bpe, weights }) => ({ ...tokenizer(bpe), run: decoder(config, tensors(weights)) }))
  window.tfStoriesModel = model

  for (const form of document.querySelectorAll("form.stories")) {
    const text = form.querySelector("textarea"), box = form.querySelector("div")
    form.onsubmit = async event => {
      event.preventDefault()
      box.textContent = "The model is being read ..."
      try {
        const { encode, decode, run } = await model()
        const { palette, shades } = await import(window.tfScenes["colours.js"])
        const ids = encode(text.value).slice(-MOST)
        if (!ids.length) throw new Error("There is no text yet: type some above.")
        draw(box, ids.map(decode), run(ids), decode, shades(palette(box), SCALE))
      } catch (error) {
        box.textContent = error.message
      }
    }
  }
})()
