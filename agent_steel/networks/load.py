"""Load a network from a Python file in KernelBench's format."""

from __future__ import annotations

import ast
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from agent_steel.networks.operation import SEED, Network
from metalbench.kernelbench.pytorch.module import ModuleSource, make_model
from metalbench.reference.torch_form import import_torch_for


def load_network(path: Path, kind: str) -> Network:
    """Return the network of a file, which is executed, for comparisons with a device of `kind`.

    The file has a class `Model` of PyTorch or MLX, and functions `get_inputs` and
    `get_init_inputs`. Raise TaskError, with file and line, if one is missing or fails, and
    DeclarationError if the file imports PyTorch and PyTorch is not installed.
    """
    source = ModuleSource(path, "model")
    if not path.is_file():
        raise source.fault("expected a Python file, found none")
    imported = {
        name.partition(".")[0] for node in ast.walk(source.tree) for name in _list_imports(node)
    }
    uses_torch = "torch" in imported
    if uses_torch:
        import_torch_for("model").manual_seed(SEED)
    with ExitStack() as stack:
        if "mlx" in imported and find_spec("mlx") is not None:
            import mlx.core as mx

            from agent_steel.networks.on_mlx import find_hooks

            mx.random.seed(SEED)
            # Functions that the file imports by name have hooks, too.
            stack.enter_context(find_hooks().install(None))
        file = source.module_at({})
    initial = source.call_user_code("get_init_inputs", file.get_init_inputs)
    model = source.call_user_code("Model", lambda: make_model(file.Model, initial))
    arguments = source.call_user_code("get_inputs", file.get_inputs)
    if not isinstance(arguments, (list, tuple)) or not arguments:
        raise source.fault(f"get_inputs: expected a list of arrays, got {type(arguments)}")
    if uses_torch:
        torch = import_torch_for("model")
        if isinstance(model, torch.nn.Module):
            from agent_steel.networks.on_torch import TorchNetwork

            return TorchNetwork(source, model, arguments, kind)
    if "mlx" in imported:
        from mlx.nn.layers.base import Module

        if isinstance(model, Module):
            from agent_steel.networks.on_mlx import MlxNetwork

            return MlxNetwork(source, model, arguments)
    raise source.fault(
        f"Model: expected a torch.nn.Module or an mlx.nn.Module, got {type(model).__name__}"
    )


def _list_imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module]
    return []
