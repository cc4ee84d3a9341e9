"""Linear layer of weights in GGUF's q5_0, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q5_0 = matmul("qmm_q5_0", gguf("q5_0"))
