"""Linear layer of weights in GGUF's q5_1, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q5_1 = matmul("qmm_q5_1", gguf("q5_1"))
