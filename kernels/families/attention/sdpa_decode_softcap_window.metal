// kernel: sdpa_decode_softcap.metal
