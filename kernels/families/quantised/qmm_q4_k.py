"""Linear layer of weights in GGUF's q4_k, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q4_k = matmul("qmm_q4_k", gguf("q4_k"))
