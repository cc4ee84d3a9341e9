"""Linear layer of weights in GGUF's iq4_xs, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_iq4_xs = matmul("qmm_iq4_xs", gguf("iq4_xs"))
