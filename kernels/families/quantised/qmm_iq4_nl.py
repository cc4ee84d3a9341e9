"""Linear layer of weights in GGUF's iq4_nl, x W^T."""

from metalbench.formats.tasks import gguf, matmul

qmm_iq4_nl = matmul("qmm_iq4_nl", gguf("iq4_nl"))
