"""Describe the mechanisms that confine a kernel's process, and the risk where one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.isolation.confinement.proof import Proof

# Possible actions of code that escapes its language, if a mechanism does not hold.
_WITHOUT = {
    "files": "such code could open every file that you may, until the process is sealed",
    "system calls": "such code could start programs, open files and sockets, and signal others",
    "network": "the filter of system calls alone keeps such code from the network",
    "sockets": "the network namespace alone keeps such code from the network",
    "children": "a process that such code starts could outlive the run",
    "a sealed process": "such code could start programs, open files and sockets, and signal others",
}


def describe_proof(proof: Proof) -> str:
    """Describe a mechanism, what was tried, and the risk if it does not hold, in one line."""
    if proof.holds:
        return f"{proof.name}: held by {proof.means}; refused: {', '.join(proof.refused)}"
    why = proof.reason or f"{', '.join(proof.done)} went through"
    return f"{proof.name}: not held by {proof.means} ({why}); {_WITHOUT[proof.name]}"
