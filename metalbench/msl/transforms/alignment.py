"""Lower the alignment of memory accesses to what is proven.

Apple's GPUs access a vector at any address at which one of its elements may be. NVIDIA's GPUs
fault where a wide access is not aligned to its width. clang promises LLVM the alignment of the type
that an access is written with, which a cast (`*(device float4*)(x + i)`) does not make true. So the
promise is lowered to the alignment of an element, and LLVM splits the access. Where the address
itself proves more, the access stays whole: buffers begin at multiples of `BUFFER_ALIGNMENT` bytes
(options.py), and a branch such as `if (cols % 4 == 0)` proves the alignment of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from metalbench.msl.ir.model import (
    Alloca,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.operands import (
    alignment_of,
    with_alignment,
    without_reference_alignment,
)
from metalbench.msl.ir.types import (
    ArrayType,
    Float,
    Int,
    Layout,
    Named,
    Pointer,
    Struct,
    Type,
    Vector,
)
from metalbench.msl.transforms.proven_alignment import ProvenAlignment, Use, trailing_zeros

# Bytes. Apple's GPUs access 8-byte elements at any multiple of 4 bytes.
_MOST_PROMISED = 4
# No access is wider than 16 bytes.
_MOST_ZEROS = 4
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


def lower_alignment(module: Module) -> None:
    """Promise the alignments of elements, not of vectors, before LLVM's passes.

    Raises IrError for an access without alignment.
    """
    elements = _Elements(module.layout)
    for function in module.functions.values():
        if function.mentions(" align "):
            _lower_in(function, elements)


class _Elements:
    """The smallest scalars of types."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[Type, int] = {}

    def smallest(self, type_: Type) -> int:
        """Return the bytes of the smallest scalar in a type; 0 if it has none."""
        if type_ not in self._known:
            self._known[type_] = self._find(type_)
        return self._known[type_]

    def _find(self, type_: Type) -> int:
        if isinstance(type_, Named) and type_.name in self._layout.named:
            return self.smallest(self._layout.resolve(type_))
        if isinstance(type_, Vector | ArrayType):
            return self.smallest(type_.element)
        if isinstance(type_, Struct):
            sizes = map(self.smallest, type_.members)
            return min((size for size in sizes if size), default=0)
        if isinstance(type_, Int):
            size = max(type_.bits // 8, 1)
            # clang passes a vector of three bytes as i24.
            return size & -size
        return self._layout.size(type_) if isinstance(type_, Float | Pointer) else 0


def _lower_in(function: Function, elements: _Elements) -> None:
    function.head = without_reference_alignment(function.head)
    sizes = _Sizes(function, elements)
    for _, each in function.instructions:
        if isinstance(each, Memory):
            if not each.is_atomic:
                _lower_access(each, elements)
            each.detach("align")
        elif isinstance(each, CallInstruction) and " align " in each.text:
            if each.name.startswith(_COPIES):
                _lower_copy(each, sizes)
            each.set_text(without_reference_alignment(each.text))


def _lower_access(access: Memory, elements: _Elements) -> None:
    accessed = access.accessed
    if isinstance(accessed, ArrayType | Struct):
        return
    promised = min(elements.smallest(accessed) or 1, _MOST_PROMISED)
    if access.alignment > promised:
        access.set_alignment(promised)


class _Sizes:
    """Smallest scalars of what pointers of a function point to, as far as their types say."""

    def __init__(self, function: Function, elements: _Elements) -> None:
        self._function = function
        self._elements = elements
        self._found: Mapping[str, int] | None = None

    def of(self, pointer: Value) -> int:
        """Return the bytes of the smallest scalar that a pointer leads to; 0 if not known."""
        if self._found is None:
            self._found = self._find()
        return self._found.get(pointer.text, 0)

    def _find(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for _, each in self._function.instructions:
            if isinstance(each, Alloca):
                size = self._elements.smallest(each.allocated)
                if size:
                    found[each.result] = size
            elif isinstance(each, ElementPointer) and not isinstance(
                each.element, Vector | ArrayType | Struct
            ):
                base, size = each.operands[0], self._elements.smallest(each.element)
                if size and base.is_local and base.type == Pointer():
                    found[each.result] = size
                    found.setdefault(base.text, size)
        return found


def _lower_copy(copy: CallInstruction, sizes: _Sizes) -> None:
    pointers = [value for value, _ in _list_aligned_pointers(copy)]
    known = min((size for each in pointers if (size := sizes.of(each))), default=0)

    def lower(_: Value, alignment: int) -> int:
        # Without a known type: elements of vectors of four.
        return min(alignment, known or max(alignment // 4, 1), _MOST_PROMISED)

    _change_alignments(copy, lower)


def _list_aligned_pointers(call: CallInstruction) -> Iterator[tuple[Value, int]]:
    """Yield the pointers that a call says the alignment of, with that, but constant expressions."""
    for value, attributes in zip(call.operands, call.parameters, strict=True):
        if value.text[0] in "%@" and (alignment := alignment_of(attributes)):
            yield value, alignment


def _change_alignments(call: CallInstruction, change: Callable[[Value, int], int]) -> None:
    """Change the alignments that a call says its pointers have."""
    aligned = dict(_list_aligned_pointers(call))
    parameters = [
        with_alignment(attributes, change(value, alignment))
        if value in aligned and (alignment := alignment_of(attributes))
        else attributes
        for value, attributes in zip(call.operands, call.parameters, strict=True)
    ]
    if parameters != list(call.parameters):
        call.set_arguments(call.operands, parameters)


def raise_alignment(module: Module, buffer_alignment: int) -> None:
    """Promise the alignments that a module's code proves, after LLVM's passes.

    `buffer_alignment` is that of the addresses of buffers, in bytes. Raises IrError for an access
    without alignment.
    """
    globals_ = module.globals
    for function in module.functions.values():
        uses = [use for block in function.blocks for use in _uses_in(function, block)]
        if not uses:
            continue
        proven = ProvenAlignment(function, globals_, trailing_zeros(buffer_alignment))
        found: dict[Instruction, dict[str, int]] = {}
        for use, zeros in zip(uses, proven.zeros(uses), strict=True):
            found.setdefault(use.instruction, {})[use.address] = 1 << min(zeros, _MOST_ZEROS)
        for instruction, alignments in found.items():
            if isinstance(instruction, Memory):
                (alignment,) = alignments.values()
                if alignment > instruction.alignment:
                    instruction.set_alignment(alignment)
            elif isinstance(instruction, CallInstruction):
                _raise_copy(instruction, alignments)


def _raise_copy(copy: CallInstruction, proven: Mapping[str, int]) -> None:
    _change_alignments(copy, lambda value, alignment: max(alignment, proven[value.text]))


def _uses_in(function: Function, block: str) -> Iterator[Use]:
    """Yield the addresses that a block accesses."""
    for each in function.blocks[block].instructions:
        if isinstance(each, Memory) and not each.is_atomic:
            address = each.address.text
            if address[0] in "%@" or address.endswith(")"):
                yield Use(address, block, each)
        elif isinstance(each, CallInstruction) and each.name.startswith(_COPIES):
            for pointer, _ in _list_aligned_pointers(each):
                yield Use(pointer.text, block, each)
