"""Linear layer of weights in GGUF's q4_1, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q4_1 = matmul("qmm_q4_1", gguf("q4_1"))
