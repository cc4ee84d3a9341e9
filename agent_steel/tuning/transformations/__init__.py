"""Changes of a kernel's text that leave its results as they are, each with what it needs."""

from agent_steel.tuning.transformations.elements import ElementsPerThread
from agent_steel.tuning.transformations.threads import ThreadCount
from agent_steel.tuning.transformations.transformation import Transformation
from agent_steel.tuning.transformations.unrolling import Unrolling
from agent_steel.tuning.transformations.vectors import VectorLoads

TRANSFORMATIONS: tuple[Transformation, ...] = (
    VectorLoads(),
    ElementsPerThread(),
    ThreadCount(),
    Unrolling(),
)

__all__ = ["TRANSFORMATIONS", "Transformation"]
