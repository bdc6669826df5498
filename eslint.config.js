// Bugs, not formatting: what the recommended rules find, and what may never happen to the text of a user.
import js from "@eslint/js"
import globals from "globals"

const MARKUP = "User text goes through textContent, title and attributes; it is never parsed as HTML."
const parsed = ["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "write", "createContextualFragment"]

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2022, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-empty": ["error", { allowEmptyCatch: true }],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-script-url": "error",
      "no-self-compare": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "prefer-promise-reject-errors": "error",
    },
  },
  {
    files: ["pages/**/*.js", "tfcore/charts/scenes/*.js"],
    languageOptions: { globals: globals.browser },
    rules: { "no-restricted-properties": ["error", ...parsed.map(property => ({ property, message: MARKUP }))] },
  },
  {
    files: ["tools/*.js"],
    languageOptions: { globals: globals.browser, sourceType: "script" },
    rules: { "no-restricted-properties": ["error", ...parsed.map(property => ({ property, message: MARKUP }))] },
  },
  { files: ["tests/js/**/*.js"], languageOptions: { globals: { ...globals.browser, ...globals.node } } },
]
