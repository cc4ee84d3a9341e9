"""Skip these tests without jaxlib, which has wheels for Python 3.11 and newer."""

import sys

collect_ignore_glob = ["test_*.py"] if sys.version_info < (3, 11) else []
