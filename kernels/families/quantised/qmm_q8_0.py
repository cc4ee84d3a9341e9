"""Linear layer of weights in GGUF's q8_0, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q8_0 = matmul("qmm_q8_0", gguf("q8_0"))
