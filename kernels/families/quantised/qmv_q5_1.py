"""Matrix of weights in GGUF's q5_1 times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q5_1 = matvec("qmv_q5_1", gguf("q5_1"))
