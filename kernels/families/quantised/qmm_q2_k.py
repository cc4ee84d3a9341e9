"""Linear layer of weights in GGUF's q2_k, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q2_k = matmul("qmm_q2_k", gguf("q2_k"))
