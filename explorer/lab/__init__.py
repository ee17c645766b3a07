"""The lab: a loaded model with its heads, as Python users, commands and the page work with it."""
