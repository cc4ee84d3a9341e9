"""Serialise the programs of JAX, and read the facts that JAX asks for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib.metadata import version
from threading import Lock
from typing import Any

from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.reading import parse
from metalbench.hlo.running import Executable

_MAGIC = b"metalbench program 1\n"
_LENGTH_BYTES = 8
# Attributes by which JAX marks donated arguments.
_DONATION_MARKS = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass
class CompiledProgram:
    """A program and its executable.

    `types` (numbers of PJRT) and `shapes` are those of the outputs. `donated` are indices of
    arguments.
    """

    code: bytes
    options: bytes
    name: str
    donated: list[int]
    types: list[int] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    argument_bytes: int = 0
    output_bytes: int = 0
    code_bytes: int = 0
    executable: Executable = field(init=False)
    lock: Lock = field(init=False)

    @property
    def serialized(self) -> bytes:
        """Bytes for `deserialize`. They hold no kernels: the build cache stores these."""
        length = len(self.options).to_bytes(_LENGTH_BYTES, "little")
        return b"".join([_MAGIC, length, self.options, self.code])

    @property
    def fingerprint(self) -> str:
        """Hash of the program, its options and the version of metalbench."""
        digest = hashlib.sha256(version("metalbench").encode())
        digest.update(self.serialized)
        return digest.hexdigest()


def deserialize(serialized: bytes) -> tuple[bytes, bytes]:
    """Return the code and options of a serialised program.

    Raise DeclarationError for other bytes.
    """
    start = len(_MAGIC) + _LENGTH_BYTES
    if not serialized.startswith(_MAGIC) or len(serialized) < start:
        raise DeclarationError("expected a program that metalbench serialised, got other bytes")
    length = int.from_bytes(serialized[len(_MAGIC) : start], "little")
    if len(serialized) < start + length:
        raise DeclarationError("expected a program that metalbench serialised, got a part of one")
    return serialized[start + length :], serialized[start : start + length]


def read_facts(code: bytes) -> dict[str, Any]:
    """Return the `name` of a program and the indices of its `donated` arguments.

    Raise DeclarationError if the code is not StableHLO.
    """
    module = parse(code, "<program>")
    from jaxlib.mlir import ir

    name = "program"
    if "sym_name" in module.operation.attributes:
        name = ir.StringAttr(module.operation.attributes["sym_name"]).value
    return {"name": name, "donated": _find_donated(module)}


def check_options(options: bytes) -> None:
    """Raise Unsupported for a program for several devices: the platform has one."""
    if not options:
        return
    from jaxlib import _jax

    found = _jax.CompileOptions.ParseFromString(options)
    count = found.num_replicas * found.num_partitions
    if count > 1:
        raise Unsupported(f"compile options: expected one device, got a program for {count}")


def _find_donated(module: Any) -> list[int]:
    """Return the indices of the donated arguments of `main`."""
    from jaxlib.mlir import ir

    for each in module.body.operations:
        operation = each.operation
        if operation.name != "func.func" or "arg_attrs" not in operation.attributes:
            continue
        if ir.StringAttr(operation.attributes["sym_name"]).value == "main":
            marks = [ir.DictAttr(each) for each in ir.ArrayAttr(operation.attributes["arg_attrs"])]
            return [
                number
                for number, mark in enumerate(marks)
                if any(name in mark for name in _DONATION_MARKS)
            ]
    return []
