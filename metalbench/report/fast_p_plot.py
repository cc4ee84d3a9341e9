"""Plot the curves of fast_p over p, one for each folder of generations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.errors import DeclarationError, MachineError, Unsupported
from metalbench.foreign_text import xml_text
from metalbench.generations.comparison import FolderFigures
from metalbench.stats import CONFIDENCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")


def draw(columns: Sequence[FolderFigures], path: Path) -> None:
    """Write the plot in the format of the file's suffix: one plot a level, with interval bands.

    Raises DeclarationError for another format than .svg and .png, Unsupported without matplotlib,
    MachineError if the file cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise DeclarationError(f"{path}: expected a name that ends in .svg or .png")
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise Unsupported(
            "--plot: matplotlib is missing; run `pip install 'metalbench[plot]'`"
        ) from error
    # Names of folders are foreign text: a `$` does not begin mathematics.
    with rc_context({"text.parse_math": False}):
        figure = _figure(columns)
        try:
            figure.savefig(path)
        except OSError as error:
            raise MachineError(f"{path} cannot be written: {error.strerror}") from error


def _figure(columns: Sequence[FolderFigures]) -> Figure:
    """Return the figure: one plot a level."""
    from matplotlib.figure import Figure

    levels = list(dict.fromkeys(level for column in columns for level in column.levels))
    figure = Figure(figsize=(6 * len(levels), 4.5), layout="constrained")
    for axes, level in zip(figure.subplots(1, len(levels), squeeze=False)[0], levels, strict=True):
        for column in columns:
            if level in column.levels:
                curve = column.levels[level].curve
                ps, shares = zip(*curve, strict=True)
                name, middles = xml_text(column.name), [each.value for each in shares]
                axes.step(ps, middles, where="post", label=name)
                if all(each.is_bounded for each in shares):
                    lows, highs = [s.low for s in shares], [s.high for s in shares]
                    axes.fill_between(ps, lows, highs, step="post", alpha=0.2)
        axes.set(title=xml_text(level), xlabel="p", ylabel="fast_p, of all samples", ylim=(0, 1.02))
        axes.legend(frameon=False)
    figure.supxlabel(f"bands: {100 * CONFIDENCE:g} % bootstrap intervals over problems", fontsize=8)
    return figure
