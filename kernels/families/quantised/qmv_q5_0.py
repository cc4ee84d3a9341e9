"""Matrix of weights in GGUF's q5_0 times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q5_0 = matvec("qmv_q5_0", gguf("q5_0"))
