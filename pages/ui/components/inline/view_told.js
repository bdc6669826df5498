// Keeps what copy_link.js needs to know at a click, and what Python knows at the end of a run: which names of the address
// carry texts, which texts are examples of the page, and the model.

/** @param {Component<ViewTold>} component */
export default function ({ data }) {
  document.documentElement.dataset.viewTold = JSON.stringify(data)
}
