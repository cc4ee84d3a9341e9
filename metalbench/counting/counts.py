"""Counts of threads, which add up over lines, dispatches and kernels."""

from __future__ import annotations

from dataclasses import dataclass, fields

SIMD_WIDTH = 32
TRANSACTION_BYTES = 128


@dataclass
class Counts:
    """Exact sums. Accesses and arithmetic are of threads; counts of SIMD-groups are marked.

    A transaction is a 128-byte line that one access of a SIMD-group touches. `least_` is the
    minimum for the same bytes. A bank turn is one cycle in which each of the 32 banks of
    threadgroup memory can deliver 4 bytes.
    """

    device_reads: int = 0
    device_writes: int = 0
    device_bytes_read: int = 0
    device_bytes_written: int = 0
    device_transactions: int = 0
    least_device_transactions: int = 0
    constant_reads: int = 0
    constant_bytes_read: int = 0
    threadgroup_reads: int = 0
    threadgroup_writes: int = 0
    threadgroup_bytes_read: int = 0
    threadgroup_bytes_written: int = 0
    bank_turns: int = 0
    least_bank_turns: int = 0
    atomics: int = 0
    contended: int = 0
    # Counts of SIMD-groups.
    barriers: int = 0
    simdgroup_barriers: int = 0
    simdgroup_operations: int = 0
    matrix_multiplies: int = 0
    fences: int = 0
    # Counts of threads.
    float_add: int = 0
    float_multiply: int = 0
    float_fma: int = 0
    float_divide: int = 0
    float_special: int = 0
    float_compare: int = 0
    integer: int = 0
    integer_divide: int = 0

    def add(self, other: Counts) -> None:
        """Add the sums of another object to these."""
        for each in fields(Counts):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that threads read and write."""
        return self.device_bytes_read + self.device_bytes_written

    @property
    def coalescing(self) -> float:
        """Least transactions / transactions of device memory, at most 1; NaN without accesses."""
        return _ratio(self.least_device_transactions, self.device_transactions)

    @property
    def bank_conflicts(self) -> int:
        """Bank turns of threadgroup memory beyond the least."""
        return self.bank_turns - self.least_bank_turns

    @property
    def flops(self) -> int:
        """Floating-point operations: a fused one counts twice, a matrix multiply 1024 times."""
        single = self.float_add + self.float_multiply + self.float_divide + self.float_special
        return single + 2 * self.float_fma + 2 * 8**3 * self.matrix_multiplies


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
