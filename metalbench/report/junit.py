"""A run as JUnit's XML, which CI systems read: a test case for each kernel.

An incorrect or slower kernel is a failure; a kernel that did not run is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from metalbench.comparison.regression import Regression
from metalbench.foreign_text import xml_text
from metalbench.report import numbers, shown
from metalbench.report.notice import device_line
from metalbench.result import Result, Status

REGRESSION = "REGRESSION"


def to_junit(results: Sequence[Result], regressions: Sequence[Regression] = ()) -> str:
    """Return the results as one test suite with the name metalbench."""
    slower: dict[tuple[str, str, str], Regression] = {each.key: each for each in regressions}
    cases = [_case(result, slower) for result in results]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": 0,
    }
    attributes = {name: str(count) for name, count in counts.items()}
    attributes["time"] = f"{sum(result.seconds for result in results):.3f}"
    root = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "metalbench", **attributes})
    if results:
        properties = ElementTree.SubElement(suite, "properties")
        device = xml_text(device_line(results[0].device))
        ElementTree.SubElement(properties, "property", {"name": "device", "value": device})
    suite.extend(cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(result: Result, slower: dict[tuple[str, str, str], Regression]) -> ElementTree.Element:
    case = result.case
    element = ElementTree.Element(
        "testcase",
        {
            "classname": xml_text(f"metalbench.{case.set}"),
            "name": xml_text(f"{case.task}[{case.dtype}-{case.size}]"),
            "time": f"{result.seconds:.3f}",
        },
    )
    kind = "failure" if result.status is Status.INCORRECT else "error"
    for failure in result.failures:
        message = f"{failure.stage}: {failure.message.partition(chr(10))[0]}"
        _add(element, kind, failure.kind, message, failure.message)
    found = slower.get((case.task, case.dtype, case.size))
    if found is not None:
        ratio = numbers.ratio(found.judgement.ratio)
        _add(element, "failure", REGRESSION, f"slower: {ratio} against {found.against}", "")
    if result.measurement is not None:
        times = ElementTree.SubElement(element, "system-out")
        measured = result.measurement
        times.text = xml_text(
            f"kernel {numbers.time(shown.kernel_time(measured))}, MLX "
            f"{numbers.time(shown.reference_time(measured))}, MLX / kernel "
            f"{numbers.ratio(shown.ratio(measured))}"
        )
    return element


def _add(element: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    found = ElementTree.SubElement(
        element, tag, {"type": xml_text(kind), "message": xml_text(message)}
    )
    found.text = xml_text(text) or None
