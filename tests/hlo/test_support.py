"""The table of the documentation is that of the code."""

from __future__ import annotations

from pathlib import Path

from metalbench.hlo.operations import format_support_table

PAGE = Path(__file__).parents[2] / "docs/how-to/stablehlo.md"


def test_the_table_of_the_documentation_is_the_codes():
    text = PAGE.read_text()
    assert (
        text.partition("<!-- table -->\n")[2].partition("\n<!-- end -->")[0]
        == format_support_table()
    )
