"""What kernels have computed before, as hashes: a change of any bit shows, wanted or not."""

from metalbench.snapshot.file import Change, Snapshots
from metalbench.snapshot.taken import Snapshot, Taken, taken

__all__ = ["Change", "Snapshot", "Snapshots", "Taken", "taken"]
