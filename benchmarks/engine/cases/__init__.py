"""All cases, in the order in which they are run."""

from benchmarks.engine.cases.elementwise import ELEMENTWISE
from benchmarks.engine.cases.images import IMAGES
from benchmarks.engine.cases.integers import INTEGERS
from benchmarks.engine.cases.matmul import MATMUL
from benchmarks.engine.cases.memory import MEMORY
from benchmarks.engine.cases.reductions import REDUCTIONS
from benchmarks.engine.cases.scans import SCANS
from benchmarks.engine.cases.transformers import TRANSFORMERS

CASES = [
    *ELEMENTWISE,
    *REDUCTIONS,
    *MATMUL,
    *IMAGES,
    *INTEGERS,
    *MEMORY,
    *SCANS,
    *TRANSFORMERS,
]
