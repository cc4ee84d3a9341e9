"""Linear layer of weights in GGUF's q5_k, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_q5_k = matmul("qmm_q5_k", gguf("q5_k"))
