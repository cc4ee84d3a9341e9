"""Linear layer of weights in GGUF's q3_k for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_q3_k_few = matmul_of_few("qmm_q3_k_few", gguf("q3_k"))
