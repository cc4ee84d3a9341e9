"""The MLX reference of a task: its results and its repetitions for timing."""

from metalbench.reference.chain import (
    Form,
    Reference,
    create_reference,
    explain_missing_gpu,
    list_forms,
)
from metalbench.reference.evaluate import outputs

__all__ = [
    "Form",
    "Reference",
    "create_reference",
    "explain_missing_gpu",
    "list_forms",
    "outputs",
]
