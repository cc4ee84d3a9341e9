// kernel: mont_mul.metal bls12_base
