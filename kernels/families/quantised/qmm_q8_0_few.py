"""Linear layer of weights in GGUF's q8_0 for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_q8_0_few = matmul_of_few("qmm_q8_0_few", gguf("q8_0"))
