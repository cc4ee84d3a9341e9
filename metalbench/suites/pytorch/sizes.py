"""Additional sizes of a module: small and odd ones for checks, and one for the cpu.

The numbers that a file calls constants are made smaller as long as the module still runs and is the
same graph; shapes are tried without memory, on PyTorch's "meta" device.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from metalbench.errors import DeclarationError
from metalbench.reference.on_torch import import_torch_for
from metalbench.suites.pytorch.module import Module, several

Extents = dict[str, int]
# What a size may come to at most: products' arithmetic, and elements of all arrays.
SMALL = 4_000_000, 400_000
ODD = 16_000_000, 800_000
CPU = 400_000_000, 4_000_000
BATCH = 2


@dataclass(frozen=True)
class Work:
    """Arithmetic of products, and elements of inputs, parameters and outputs."""

    products: int
    elements: int

    def within(self, most: tuple[int, int]) -> bool:
        """Return whether it is no more than that."""
        return self.products <= most[0] and self.elements <= most[1]


@dataclass
class Trials:
    """Sizes that were tried, and what came of them."""

    module: Module
    least: int
    known: dict[tuple[int, ...], Work | None] = field(default_factory=dict)

    def work(self, values: Mapping[str, int]) -> Work | None:
        """Return the work of a size; None if the module does not run."""
        key = tuple(values.values())
        if key not in self.known:
            self.known[key] = None
            with contextlib.suppress(DeclarationError):
                self.known[key] = work_of(self.module, values)
        return self.known[key]


def work_of(module: Module, values: Mapping[str, int]) -> Work:
    """What a size comes to, without memory; raises TaskError where the module does not run."""
    torch = import_torch_for("import-torch")
    from torch.utils.flop_counter import FlopCounterMode

    model, arguments = module.build(values, "meta")
    with warnings.catch_warnings(), torch.no_grad(), FlopCounterMode(display=False) as counter:
        warnings.simplefilter("ignore")
        got = several(module.source.call_user_code("forward", lambda: model(*arguments)))
    arrays = [*arguments, *model.parameters(), *got]
    elements = [each.numel() for each in arrays if isinstance(each, torch.Tensor)]
    if not all(elements):
        raise module.source.fault(f"no elements in an array at {values}")
    return Work(int(counter.get_total_flops()), sum(elements))


def sizes_of(module: Module, least: int) -> dict[str, Extents]:
    """`small`, `odd`, `cpu` and `paper`, the last the file's own; no number below `least`.

    Raise TaskError where the module does not run at its own.
    """
    own = dict(module.source.extents) or {}
    trials = Trials(module, least)
    trials.known[tuple(own.values())] = work_of(module, own)
    small = _small(own, trials)
    return {
        "small": small,
        "odd": _odd(small, own, trials),
        "cpu": _grow(small, own, trials),
        "paper": own,
    }


def _small(own: Extents, trials: Trials) -> Extents:
    """Return all numbers divided alike, if the module can do that; then each as far as it goes."""
    found = own
    for parts in (1 << place for place in range(16, 0, -1)):
        values = {name: _part(name, value, parts, trials.least) for name, value in own.items()}
        if trials.work(values) is not None:
            found = values
            break
    for name in sorted(own, key=lambda each: -own[each]):
        for part in _ladder(name, found[name], trials.least):
            values = {**found, name: part}
            work = trials.work(values)
            if work is not None:
                found = values
                break
    return found


def _ladder(name: str, value: int, least: int) -> Iterator[int]:
    """From the least to what is there."""
    seen = set()
    for parts in (1 << place for place in range(16, 0, -1)):
        part = _part(name, value, parts, least)
        if part < value and part not in seen:
            seen.add(part)
            yield part


def _part(name: str, value: int, parts: int, least: int) -> int:
    least = BATCH if "batch" in name.lower() else least
    return min(value, max(least, value // parts))


def _odd(small: Extents, own: Extents, trials: Trials) -> Extents:
    found = dict(small)
    for name, value in small.items():
        for more in (5, 3, 1, 2, value // 2, value):
            values = {**found, name: value + more}
            work = trials.work(values) if value + more <= max(own[name], value + 1) else None
            if work is not None and work.within(ODD):
                found = values
                break
    return found


def _grow(small: Extents, own: Extents, trials: Trials) -> Extents:
    """Numbers doubled, one after the other and over again, up to what a processor does at once."""
    found = dict(small)
    for _ in count():
        before = dict(found)
        for name in own:
            values = {**found, name: min(2 * found[name], own[name])}
            if values == found:
                continue
            work = trials.work(values)
            if work is not None and work.within(CPU):
                found = values
        if found == before:
            return found
    raise AssertionError


def same_graph(sizes: dict[str, Extents], form: Callable[[Extents], object]) -> dict[str, Extents]:
    """Return the sizes with those numbers left as they are that would make another graph.

    `form` gives what the graph looks like at a size.
    """
    own = sizes["paper"]
    wanted = form(own)
    for name in own:
        if all(form(values) == wanted for values in sizes.values()):
            break
        if form({**own, name: sizes["small"][name]}) != wanted:
            sizes = {size: {**values, name: own[name]} for size, values in sizes.items()}
    if any(form(values) != wanted for values in sizes.values()):
        return {size: dict(own) for size in sizes}
    return sizes
