"""The MLX reference: what it computes, and how it is run to be timed."""

from metalbench.reference.chain import Reference, create_reference
from metalbench.reference.compute import outputs
from metalbench.reference.forms import Form, forms_of

__all__ = ["Form", "Reference", "create_reference", "forms_of", "outputs"]
