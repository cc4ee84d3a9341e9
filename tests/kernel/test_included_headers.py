"""Test with_includes on headers that include each other many times."""

from __future__ import annotations

import re

import pytest

from metalbench import _core

HEADERS = 30
GUARDS = {
    "once": "#pragma once\nTEXT",
    "guard": "// A header.\n#ifndef H_N\n#define H_N\nTEXT#endif  // H_N\n",
    "defined": "#if !defined(H_N)\n#define H_N 1\nTEXT#endif\n",
    "both": "#pragma once\n#ifndef H_N\n#define H_N\nTEXT#endif\n",
}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kind", GUARDS)
def test_with_includes_inserts_a_guarded_header_once(tmp_path, kind, order):
    for number in range(HEADERS):
        included = "".join(f'#include "h{each}.h"\n' for each in range(number)[::order])
        text = f"{included}int f{number}();\n"
        header = GUARDS[kind].replace("TEXT", text).replace("_N", f"_{number}")
        (tmp_path / f"h{number}.h").write_text(header)
    source = f'#include "h{HEADERS - 1}.h"\nint f;\n'
    found = _core.with_includes(source, filename=str(tmp_path / "a.metal"), include_dirs=[])
    assert sorted(re.findall(r"int (f\d+)\(\)", found)) == sorted(f"f{n}" for n in range(HEADERS))


def test_with_includes_inserts_a_header_again_after_undef(tmp_path):
    (tmp_path / "h.h").write_text("#ifndef H\n#define H\nX\n#endif\n")
    source = '#define X int a;\n#include "h.h"\n#include "h.h"\n#undef H\n#include "h.h"\n'
    found = _core.with_includes(source, filename=str(tmp_path / "a.metal"), include_dirs=[])
    assert len(re.findall(r"^X$", found, re.M)) == 2
