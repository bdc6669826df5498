// Tells how far lessons have come, as this browser keeps it (lesson_ring.js), where the page does not know it yet.
const KEPT = "tf-lessons"
const LONGEST = 4000 // characters

/** @param {Component<LessonProgressData>} component */
export default function ({ data, setTriggerValue }) {
  try {
    const said = localStorage.getItem(KEPT) || "{}"
    if (said.length <= LONGEST && said !== data.told) setTriggerValue("kept", said)
  } catch {} // this browser keeps nothing
}
