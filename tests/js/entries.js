// Two entries in place of those that Python writes, see pages/ui/finder.py.
export default [
  ["page", "Attention masks", "Who may look at whom?", "masks"],
  ["example", "second", "Attention masks", "masks"],
]
