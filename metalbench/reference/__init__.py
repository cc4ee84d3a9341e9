"""The MLX reference of a task: its results and its repetitions for timing."""

from metalbench.reference.chain import Reference, create_reference
from metalbench.reference.compute import outputs
from metalbench.reference.forms import Form, list_forms

__all__ = ["Form", "Reference", "create_reference", "list_forms", "outputs"]
