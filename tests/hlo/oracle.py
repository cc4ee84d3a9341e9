"""Run StableHLO's reference interpreter in a separate process: unsupported operations end it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np


def evaluate(programs: Sequence[tuple[str, Sequence[np.ndarray]]]) -> list[list[np.ndarray]]:
    """Return the results of each program's `main` on its arguments."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_serve, args=(theirs, list(programs)))
    child.start()
    theirs.close()
    try:
        found: list[list[np.ndarray]] = ours.recv()
    except EOFError:
        raise AssertionError("the reference interpreter ended on one of the programs") from None
    finally:
        child.join()
    return found


def _serve(pipe: Any, programs: Sequence[tuple[str, Sequence[np.ndarray]]]) -> None:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    from metalbench.hlo.importer import get_context, parse

    found = []
    for text, arrays in programs:
        module = parse(text)
        with get_context(), ir.Location.unknown():
            given = [_attribute(each) for each in arrays]
            found.append([np.array(each) for each in stablehlo.eval_module(module, given)])
    pipe.send(found)


def _attribute(array: np.ndarray) -> Any:
    from jaxlib.mlir import ir

    kinds = {"uint32": 32, "uint8": 8}
    if array.dtype.name in kinds:
        type_ = ir.IntegerType.get_unsigned(kinds[array.dtype.name])
        return ir.DenseElementsAttr.get(array, type=type_, shape=array.shape)
    return ir.DenseElementsAttr.get(array)
