"""The loop that makes kernels faster: profile, propose, verify, keep or revert."""
