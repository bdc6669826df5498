"""The glossary: terms of the field, each with a sentence, and a formula where there is one."""
