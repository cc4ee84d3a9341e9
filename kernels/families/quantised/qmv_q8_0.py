"""Matrix of weights in GGUF's q8_0 times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q8_0 = matvec("qmv_q8_0", gguf("q8_0"))
