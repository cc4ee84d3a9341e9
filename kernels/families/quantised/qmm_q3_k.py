"""Linear layer of weights in GGUF's q3_k, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q3_k = matmul("qmm_q3_k", gguf("q3_k"))
