"""Linear layer of weights in GGUF's q6_k, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q6_k = matmul("qmm_q6_k", gguf("q6_k"))
