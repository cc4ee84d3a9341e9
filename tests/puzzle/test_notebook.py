"""The notebook says what its cells say when they are run again."""

from __future__ import annotations

import ast
import contextlib
import io
import json

from metalbench.puzzle.puzzle import find


def run(source, names):
    """Return the output of a cell, and the value of its last line."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(last, "<cell>", "eval"), names) if last else None
    return printed.getvalue(), value


def test_cells_give_the_stored_outputs():
    notebook = json.loads((find(1).skeleton.path.parent / "first_three.ipynb").read_text())
    names = {"__name__": "__main__"}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed, value = run("".join(cell["source"]), names)
        outputs = cell["outputs"]
        streams = [each for each in outputs if each["output_type"] == "stream"]
        assert printed == "".join("".join(each["text"]) for each in streams)
        pictures = [each for each in outputs if each["output_type"] == "execute_result"]
        assert bool(pictures) == hasattr(value, "_repr_svg_")
        if pictures:
            assert value._repr_svg_().startswith("<?xml")
        shown.append(printed)
    whole = "".join(shown)
    assert whole.count("Solved, with no more accesses than are needed.") == 3
    assert whole.count("Not solved yet.") == 2
