"""Linear layer of weights in GGUF's iq4_xs for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import gguf, matmul_of_few

qmm_iq4_xs_few = matmul_of_few("qmm_iq4_xs_few", gguf("iq4_xs"))
