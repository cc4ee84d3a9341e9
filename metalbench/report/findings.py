"""Findings of a check, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from metalbench.checking.findings import KINDS, CheckFinding, CheckKind, Findings, Frame
from metalbench.report.numbers import count
from metalbench.safe_text import file_text, json_text, sarif_text

SCHEMA = 1
# Findings listed in a text.
MOST_SHOWN = 256


def findings_text(findings: Findings) -> str:
    """Return the findings in the format of compilers, and a summary.

    Lists the first `MOST_SHOWN`, errors before warnings, and counts the others.
    """
    blocks = ["\n".join(_block(each, findings)) for each in findings.found[:MOST_SHOWN]]
    blocks += _unshown(findings.found[MOST_SHOWN:])
    blocks += [f"{_where(each)}: allowed: {each.kind}: {each.allowed}" for each in findings.allowed]
    blocks += [f"note: {text}" for text in (*findings.unused, *findings.skipped)]
    return "\n".join([*blocks, summary(findings)]) + "\n"


def _unshown(findings: Sequence[CheckFinding]) -> list[str]:
    """Return the line that counts unlisted findings by kind, if there are any."""
    if not findings:
        return []
    kinds = Counter[str]()
    for each in findings:
        kinds[f"{each.severity}: {each.kind}"] += each.places
    listed = ", ".join(f"{kind} {number}" for kind, number in kinds.items())
    return [f"note: {kinds.total()} more findings are not shown ({listed}); --json FILE has them"]


def summary(findings: Findings) -> str:
    """Return one line: the number of findings, the tools and the sizes."""
    errors = sum(each.places for each in findings.errors)
    warnings = sum(each.places for each in findings.warnings)
    parts = [count(errors, "error")] if errors else ["no errors"]
    parts += [count(warnings, "warning")] if warnings else []
    parts += [f"{len(findings.allowed)} allowed"] if findings.allowed else []
    where = ", ".join(findings.sizes)
    return (
        f"{findings.kernel}: {', '.join(parts)} ({', '.join(findings.tools)}; "
        f"{'size' if len(findings.sizes) == 1 else 'sizes'} {where})"
    )


def _block(finding: CheckFinding, findings: Findings) -> Iterator[str]:
    advice = f"; {finding.kind_info.advice}" if finding.kind_info.advice else ""
    yield f"{_where(finding)}: {finding.severity}: {finding.kind}: {finding.message}{advice}"
    frame = finding.frame
    lines = findings.lines
    if frame is not None and frame.file.endswith(".metal") and 0 < frame.line <= len(lines):
        text = lines[frame.line - 1]
        yield f"  {frame.line:4} | {text}"
        if frame.column:
            blank = "".join("\t" if each == "\t" else " " for each in text[: frame.column - 1])
            yield f"       | {blank}^"
    for inner, outer in zip(finding.frames, finding.frames[1:], strict=False):
        within = f"in {inner.function}, " if inner.function else ""
        yield f"       {within}called at {outer.file}:{outer.line}:{outer.column}"
    yield f"       {', '.join(_facts(finding))}"


def _facts(finding: CheckFinding) -> Iterator[str]:
    if finding.kernel:
        yield f"kernel {finding.kernel}"
    if finding.element is not None:
        yield f"element {finding.element} of `{finding.details.buffer}`"
    yield "once" if finding.count == 1 else f"{finding.count} times, the first in the grid is shown"


def _where(finding: CheckFinding) -> str:
    frame = finding.frame
    if frame is None:
        return f"[{finding.kernel}]"
    column = f":{frame.column}" if frame.column else ""
    return f"{frame.file}:{frame.line}{column}"


def findings_json(checks: Sequence[Findings], *, are_several: bool) -> str:
    """Return the findings of a kernel as a JSON object.

    Where several kernels were asked for, return an array of those that could be checked.
    """
    plain = [_plain_findings(each) for each in checks]
    return json_text(plain if are_several else plain[0], indent=2) + "\n"


def _plain_findings(findings: Findings) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kernel": findings.kernel,
        "sizes": list(findings.sizes),
        "tools": list(findings.tools),
        "passed": findings.passed,
        "places": findings.places_by_kind,
        "findings": [_plain(each) for each in findings.found],
        "allowed": [_plain(each) for each in findings.allowed],
        "unused": list(findings.unused),
        "skipped": list(findings.skipped),
    }


def _plain(finding: CheckFinding) -> dict[str, Any]:
    told = finding.details
    return {
        "kind": finding.kind,
        "tool": finding.kind_info.tool,
        "severity": finding.severity,
        "message": finding.message,
        "count": finding.count,
        "places": finding.places,
        "kernel": finding.kernel,
        "size": finding.size,
        "dtype": finding.dtype,
        "frames": [
            {
                "function": each.function,
                "file": each.file,
                "line": each.line,
                "column": each.column,
            }
            for each in finding.frames
        ],
        "buffer": told.buffer,
        "element": finding.element,
        "byte": told.byte,
        "thread": told.thread,
        "threadgroup": told.threadgroup,
        "allowed": finding.allowed or None,
    }


# Findings as SARIF 2.1.0, which code hosts show at the line.
#
# The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(checks: Sequence[Findings], root: Path) -> str:
    """Return one run of the tool `metalbench`; paths of files below `root` are relative."""
    rules = list(KINDS.values())
    found = (each for findings in checks for each in (*findings.found, *findings.allowed))
    results = [_result(each, rules, root) for each in found]
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
    return json_text({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(kind: CheckKind) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": kind.name,
        "shortDescription": {"text": kind.what},
        "defaultConfiguration": {"level": "warning" if kind.is_warning else "error"},
        "properties": {"tags": [kind.tool]},
    }
    return {**rule, "help": {"text": kind.advice}} if kind.advice else rule


def _result(finding: CheckFinding, rules: list[CheckKind], root: Path) -> dict[str, Any]:
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
