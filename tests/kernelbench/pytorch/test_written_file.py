"""The file that `import-torch` writes imports names that exist. PyTorch is not needed."""

from __future__ import annotations

import ast
from importlib import import_module

from metalbench.kernelbench.pytorch.importing import Graph, GraphStep, Name, text_of


def test_text_of_imports_existing_names() -> None:
    graph = Graph(
        inputs={"x": (2, 3)},
        parameters={"weight": (3,)},
        buffers={"mean": (3,)},
        steps=[GraphStep("y", "multiply", (Name("x"), Name("weight")), {})],
        results=[Name("y")],
        outputs=[((2, 3), "float32")],
        input_types={"x": "float32"},
    )
    sizes = {"small": {"rows": 2}}
    text = text_of("scale", "m.py", graph, sizes=sizes, flops=[6], title="Scale.", varied={})
    (statement,) = [each for each in ast.parse(text).body if isinstance(each, ast.ImportFrom)]
    assert statement.module is not None
    module = import_module(statement.module)
    names = [each.name for each in statement.names]
    assert names == ["buffer", "given", "imported", "parameter"]
    assert [each for each in names if not hasattr(module, each)] == []
