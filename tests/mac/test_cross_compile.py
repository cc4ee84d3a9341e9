"""The targets of a cross-build are what CMake itself says that it links."""

from __future__ import annotations

import json
from pathlib import Path

from metal_double.build import REPLY, Target, read_targets


def test_read_targets_returns_link_inputs_and_flags(tmp_path) -> None:
    fragments = [
        {"fragment": "-bundle -Wl,-headerpad_max_install_names", "role": "flags"},
        {"fragment": "-Wl,@/packages/nanobind/python.sym", "role": "flags"},
        {"fragment": "'-Wl,@/with space/own.sym'", "role": "flags"},
        {"fragment": "-framework Metal", "role": "libraries"},
    ]
    module = {
        "name": "_module",
        "type": "MODULE_LIBRARY",
        "artifacts": [{"path": "folder/_module.so"}],
        "link": {"commandFragments": fragments},
    }
    static = {"name": "part", "type": "STATIC_LIBRARY", "artifacts": [{"path": "libpart.a"}]}
    stub = {"name": "_module_stub", "type": "UTILITY"}
    folder = tmp_path / REPLY
    folder.mkdir(parents=True)
    model = {"configurations": [{"targets": []}]}
    for target in (module, static, stub):
        file = f"target-{target['name']}.json"
        (folder / file).write_text(json.dumps(target))
        model["configurations"][0]["targets"].append({"jsonFile": file})
    (folder / "model.json").write_text(json.dumps(model))
    index = {"reply": {"codemodel-v2": {"jsonFile": "model.json"}}}
    (folder / "index-2.json").write_text(json.dumps(index))
    (folder / "index-1.json").write_text("the answer to an earlier question")
    options = (
        "-bundle",
        "-Wl,-headerpad_max_install_names",
        "-Wl,@/packages/nanobind/python.sym",
        "-Wl,@/with space/own.sym",
        "-framework",
        "Metal",
    )
    (target,) = read_targets(tmp_path)
    assert target == Target("_module", tmp_path / "folder" / "_module.so", options)
    assert target.symbol_lists == [
        Path("/packages/nanobind/python.sym"),
        Path("/with space/own.sym"),
    ]
