"""Linear layer of weights in GGUF's q2_k for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_q2_k_few = matmul_of_few("qmm_q2_k_few", gguf("q2_k"))
