"""Hashes of the outputs of kernels, to detect a change of any bit."""

from metalbench.snapshot.file import Change, Snapshots
from metalbench.snapshot.taken import Snapshot, SnapshotResult, take_snapshots

__all__ = ["Change", "Snapshot", "SnapshotResult", "Snapshots", "take_snapshots"]
