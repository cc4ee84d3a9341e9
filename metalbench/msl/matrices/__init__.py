"""Products of matrices in LLVM's IR, as instructions of a GPU's tensor cores."""
