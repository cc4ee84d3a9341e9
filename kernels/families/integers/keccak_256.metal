// kernel: sha3_256.metal keccak
