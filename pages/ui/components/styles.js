// The stylesheet of a module. Await it before anything is drawn: what has no place yet jumps away when the styles come,
// from under a hand that has taken it, too.
/** @param {string} file */
export function styled(file) {
  const sheet = document.createElement("link")
  sheet.rel = "stylesheet"
  sheet.href = new URL(file, import.meta.url).href
  return new Promise(resolve => {
    sheet.onload = sheet.onerror = resolve
    document.head.append(sheet)
  })
}
