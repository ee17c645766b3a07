"""The commands of `python -m explorer`: one thin file each over the lab and the analysis.

A command's module has EXAMPLE, `add_arguments(parser)`, `execute(args, console)`, which returns
the object that `--json` prints, and `render(result)`, the text without `--json`.
"""
