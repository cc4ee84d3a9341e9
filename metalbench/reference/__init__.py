"""The MLX reference: what it computes, and how it is run to be timed."""

from metalbench.reference.chain import Reference, reference_beside
from metalbench.reference.compute import outputs

__all__ = ["Reference", "outputs", "reference_beside"]
