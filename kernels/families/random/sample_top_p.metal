// kernel: sample_token.metal
