"""Linear layer of weights in GGUF's q6_k for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_q6_k_few = matmul_of_few("qmm_q6_k_few", gguf("q6_k"))
