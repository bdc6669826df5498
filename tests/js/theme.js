// Two small themes in place of the file that Python writes, see tfcore.charts.theme.browser_tables.
const roles = { paper: "#ffffff", ink: "#111111", grid: "#cccccc", query: "#ff0000", attention: "#00ff00" }
const scales = (paper, full) => ({ "@weights": [[0, paper], [1, full]], "@signed": [[0, "#0000ff"], [0.5, paper], [1, "#ff0000"]] })

export default {
  light: { roles, categories: ["#000001", "#000002", "#000003"], scales: scales("#ffffff", "#0000ff") },
  dark: {
    roles: { ...roles, paper: "#000000", ink: "#eeeeee", query: "#ff8080" },
    categories: ["#f00001", "#f00002", "#f00003"],
    scales: scales("#000000", "#8080ff"),
  },
}
