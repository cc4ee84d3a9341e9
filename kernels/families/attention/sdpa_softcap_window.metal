// kernel: sdpa_softcap.metal
