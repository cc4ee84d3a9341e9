// kernel: sdpa_decode_2pass.metal
