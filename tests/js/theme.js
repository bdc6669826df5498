// Two small themes in place of the file that Python writes, see tfcore.figures.theme.browser_tables.
const roles = { paper: "#ffffff", ink: "#111111", grid: "#cccccc", query: "#ff0000", attention: "#00ff00" }

export default {
  light: { roles, categories: ["#000001", "#000002", "#000003"], scales: { "@weights": [[0, "#ffffff"], [1, "#0000ff"]] } },
  dark: {
    roles: { ...roles, paper: "#000000", ink: "#eeeeee", query: "#ff8080" },
    categories: ["#f00001", "#f00002", "#f00003"],
    scales: { "@weights": [[0, "#000000"], [1, "#8080ff"]] },
  },
}
