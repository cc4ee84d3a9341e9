"""Matrix of weights in GGUF's q4_0 times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q4_0 = matvec("qmv_q4_0", gguf("q4_0"))
