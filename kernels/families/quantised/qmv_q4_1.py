"""Matrix of weights in GGUF's q4_1 times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q4_1 = matvec("qmv_q4_1", gguf("q4_1"))
