"""A parsed source: tokens, declarations and kernels, each computed once on first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from metalbench._core import CompileError
from metalbench.msl.reading.collectives import References
from metalbench.msl.reading.constants import FunctionConstant, find_function_constants
from metalbench.msl.reading.declarations import Declaration, parse_declarations
from metalbench.msl.reading.lexer import lex
from metalbench.msl.reading.reflect import EntryPoint, find_entry_points
from metalbench.msl.reading.tokens import Tokens


@dataclass
class Source:
    """One MSL source. All properties are derived from its text on first use."""

    text: str
    filename: str
    # The preprocessor's output for `text`, including line markers.
    expanded: str
    # Folders of included files, in addition to the source's folder.
    include_dirs: tuple[str, ...] = ()

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the preprocessed source."""
        return lex(self.expanded)

    @cached_property
    def declarations(self) -> list[Declaration]:
        """The declarations in order. The source's brackets must match."""
        return parse_declarations(self.tokens)

    @cached_property
    def declarations_by_name(self) -> dict[str, list[Declaration]]:
        """Declarations outside of records, by unqualified name."""
        found: dict[str, list[Declaration]] = {}
        for declaration in self.declarations:
            found.setdefault(declaration.name, []).append(declaration)
        return found

    @cached_property
    def references(self) -> References:
        """The names that each declaration mentions."""
        return References(self.tokens, self.declarations)

    @cached_property
    def constants(self) -> list[FunctionConstant]:
        """The function constants."""
        return find_function_constants(self.tokens, self.declarations)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The targets of plain type aliases by name, such as bfloat for bfloat16_t."""
        found: dict[str, str] = {}
        for declaration in self.declarations:
            words = self.tokens.text[declaration.first : declaration.last - 1]
            if declaration.kind == "alias" and not {"<", "*", "{", "("}.intersection(words):
                if words[0] == "using" and words[2:3] == ["="]:
                    found[words[1]] = found.get(words[-1], " ".join(words[3:]))
                elif words[0] == "typedef":
                    found[words[-1]] = found.get(words[-2], " ".join(words[1:-1]))
        return found

    @cached_property
    def entry_points(self) -> dict[str, EntryPoint]:
        """The kernels by name. Raise CompileError if two have the same name."""
        found: dict[str, EntryPoint] = {}
        for kernel in find_entry_points(self.tokens, self.declarations):
            other = found.setdefault(kernel.name, kernel)
            if other is not kernel:
                raise CompileError(
                    f"{kernel.location}: error: two kernels are named {kernel.name}; "
                    f"the other is at {other.location}: rename one of them or give it a host_name"
                )
        return found

    def find_entry_point(self, name: str) -> EntryPoint:
        """Return the kernel with this name; a unique name needs no namespace.

        Raise CompileError that lists the names of all kernels.
        """
        if name in self.entry_points:
            return self.entry_points[name]
        short = [
            kernel for full, kernel in self.entry_points.items() if full.split("::")[-1] == name
        ]
        if len(short) == 1:
            return short[0]
        raise CompileError(self._explain_unknown_kernel(name))

    def _explain_unknown_kernel(self, name: str) -> str:
        known = list(self.entry_points)
        listed = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        message = f"{self.filename}: error: no kernel is named {name}; "
        for declaration in self.declarations_by_name.get(name, ()):
            where = self.tokens.locate_token(declaration.first)
            if declaration.template:
                return (
                    f"{message}{name} at {where} is a template: instantiate it with "
                    f'`template [[host_name("{name}_float")]] [[kernel]] decltype({name}<float>) '
                    f"{name}<float>;` and ask for {name}_float"
                )
            if declaration.kind == "function":
                message += f"{name} at {where} is a function without `kernel`; "
        return f"{message}expected one of: {listed or 'nothing, the source has no kernel'}"
