"""Linear layer of weights in GGUF's q4_0, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q4_0 = matmul("qmm_q4_0", gguf("q4_0"))
