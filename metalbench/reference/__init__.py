"""The MLX reference: what it computes, and how it is run to be timed."""

from metalbench.reference.chain import Reference, reference_beside
from metalbench.reference.compute import outputs
from metalbench.reference.forms import Form, forms_of

__all__ = ["Form", "Reference", "forms_of", "outputs", "reference_beside"]
