"""Linear layer of weights in GGUF's q5_1 for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_q5_1_few = matmul_of_few("qmm_q5_1_few", gguf("q5_1"))
