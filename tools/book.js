// The book's one script, a classic one: pages opened from a folder may neither import nor fetch. Figures and scenes are
// drawn when they come near the window, formulas likewise, by the modules that scenes.js has put beside it.
(() => {
  const NEAR = "500px" // below the window
  const addresses = window.tfScenes
  const drawn = new Map() // picture -> what ends it
  const libraries = new Map() // file -> when it is there

  function library(file) {
    const known = libraries.get(file) ?? new Promise((done, failed) => {
      const script = document.createElement("script")
      script.src = file
      script.onload = done
      script.onerror = () => failed(new Error(`${file} is not beside this page`))
      document.head.append(script)
    })
    libraries.set(file, known)
    return known
  }

  async function draw(picture) {
    const { module, library: file } = picture.dataset
    if (file) await library(file)
    const scene = await import(addresses[`${module}.js`])
    drawn.get(picture)?.()
    drawn.set(picture, scene.draw(picture, JSON.parse(picture.previousElementSibling.textContent)) ?? (() => {}))
    picture.querySelector(":scope > .still")?.remove()
    picture.dataset.drawn = "yes"
    reach(picture)
  }

  async function write(formula) {
    await library("katex.js")
    const { default: katex } = await import(addresses["katex.js"])
    const latex = formula.textContent, displayMode = formula.classList.contains("display")
    katex.render(latex, formula, { output: "mathml", displayMode, throwOnError: false })
    reach(formula)
  }

  // What scrolls sideways can be scrolled by keys, too.
  const reach = box => {
    if (box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto") box.tabIndex = 0
  }

  // Of a closed box nothing is near the window, so what it holds waits until it is opened.
  const near = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      near.unobserve(target)
      target.matches(".math") ? write(target) : draw(target)
    }
  }, { rootMargin: NEAR })
  for (const one of document.querySelectorAll(".picture, .math")) near.observe(one)
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => [...drawn.keys()].forEach(draw))

  // The index: what is typed is looked for in titles, questions and claims, every word of it.
  const search = document.querySelector("input[type=search]")
  if (search) search.oninput = () => {
    const words = search.value.toLowerCase().split(/\s+/)
    for (const chapter of document.querySelectorAll("section")) {
      for (const page of chapter.querySelectorAll("li")) page.hidden = !words.every(word => page.textContent.toLowerCase().includes(word))
      chapter.hidden = !chapter.querySelector("li:not([hidden])")
    }
    document.getElementById("none").hidden = Boolean(document.querySelector("section:not([hidden])"))
  }
})()
