"""Findings as SARIF 2.1.0, which code hosts show at the line.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from metalbench.checking import KINDS, Finding, Findings, Frame, Kind
from metalbench.foreign_text import file_text, json_text, sarif_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(findings: Findings, root: Path) -> str:
    """Return one run of the tool `metalbench`; paths of files below `root` are relative."""
    rules = list(KINDS.values())
    results = [_result(each, rules, root) for each in (*findings.found, *findings.allowed)]
    driver = {
        "name": "metalbench",
        "version": version("metalbench"),
        "rules": [_rule(each) for each in rules],
    }
    base = {"SRCROOT": {"uri": f"{root.absolute().as_uri()}/"}}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": base,
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(kind: Kind) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": kind.name,
        "shortDescription": {"text": kind.what},
        "defaultConfiguration": {"level": "warning" if kind.is_warning else "error"},
        "properties": {"tags": [kind.tool]},
    }
    return {**rule, "help": {"text": kind.advice}} if kind.advice else rule


def _result(finding: Finding, rules: list[Kind], root: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.kind_info.name,
        "ruleIndex": rules.index(finding.kind_info),
        "level": finding.severity,
        "message": {"text": sarif_text(finding.message)},
        "occurrenceCount": finding.count,
    }
    if finding.frame is not None:
        result["locations"] = [_location(finding.frame, root)]
    if len(finding.frames) > 1:
        frames = [{"location": _location(each, root)} for each in finding.frames]
        result["stacks"] = [{"frames": frames}]
    if finding.allowed:
        result["suppressions"] = [{"kind": "inSource", "justification": file_text(finding.allowed)}]
    return result


def _location(frame: Frame, root: Path) -> dict[str, Any]:
    path, base = Path(file_text(frame.file)).absolute(), root.absolute()
    if path.is_relative_to(base):
        relative = quote(path.relative_to(base).as_posix())
        artifact = {"uri": relative, "uriBaseId": "SRCROOT"}
    else:
        artifact = {"uri": path.as_uri()}
    region = {"startLine": frame.line}
    if frame.column:
        region["startColumn"] = frame.column
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": artifact, "region": region}
    }
    if frame.function:
        location["logicalLocations"] = [{"name": frame.function, "kind": "function"}]
    return location
