"""Run the checked builds of the library's kernels, and keep the code that passed.

python tools/checked_kernels.py [--again] [NAME...]
python tools/checked_kernels.py --check

`metalbench run` does not check bounds and races of this code again, unless `--recheck` asks for
it. A kernel is checked as in a run, in float32 and at the size that is timed on a processor. Only
code that is not in `kernels/checked.json` yet is checked; after a change of the checks, `--again`
checks all. `--check` reports what is not there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from metalbench import _core, verify
from metalbench.errors import MetalBenchError
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds
from metalbench.kernel.source_files import library_folder
from metalbench.verify import CheckedPass
from metalbench.verify.checked import DIGITS, RELEASED
from metalbench.verify.flow import all_sizes

DTYPE = "float32"


def read_record() -> dict[str, str]:
    """Return the digests of the code that has passed, by kernel."""
    path = library_folder() / RELEASED
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def write_record(record: dict[str, str]) -> None:
    """Write a record, a line for each kernel."""
    text = json.dumps(record, indent=0, sort_keys=True)
    (library_folder() / RELEASED).write_text(f"{text}\n", encoding="utf-8")


def find_builds(entry: Entry) -> Builds:
    """Return the builds of a kernel for the processor."""
    device = _core.open("cpu")
    return Builds(device, entry.kernel(device, dtype=DTYPE), entry.task, DTYPE)


def find_code(builds: Builds) -> str:
    """Return the digest of the code that the record keeps."""
    return CheckedPass(builds).code[:DIGITS]


def has_passed(builds: Builds, seed: int) -> bool:
    """Run the checked builds as a run does; return whether all of them ran, and found nothing."""
    task = builds.task
    *_, random_size = all_sizes(task, seed, upto=task.headline)
    small = verify.verify_checked(builds, seed=seed)
    timed = verify.verify_checked_as_timed(
        builds, size=task.headline, random_size=random_size, seed=seed
    )
    for each in (small, timed):
        for line in (*(finding.message for finding in each.findings), *each.skipped):
            print(f"{builds.kernel.name}: {line}", file=sys.stderr)
    return small.passed and timed.passed and not (small.skipped or timed.skipped)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check kernels, or report which are not in the record. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all kernels")
    parser.add_argument("--check", action="store_true", help="only report what is missing")
    parser.add_argument("--again", action="store_true", help="check what has passed, too")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    options = parser.parse_args(arguments)
    library, record, missing = Library(), read_record(), 0
    names = options.names or library.names("all")
    for name in names:
        entry = library.entry(name)
        if DTYPE not in entry.task.dtypes:
            continue
        builds = find_builds(entry)
        code = find_code(builds)
        if record.get(name) == code and not options.again:
            continue
        if not options.check:
            try:
                if has_passed(builds, options.seed):
                    record[name] = code
                    write_record(record)
                    print(f"{name}: passed", flush=True)
                    continue
            except MetalBenchError as error:
                print(f"{name}: {error}", file=sys.stderr)
            record.pop(name, None)
            write_record(record)
        missing += 1
        print(f"{name}: not in {RELEASED}; run python tools/checked_kernels.py {name}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
