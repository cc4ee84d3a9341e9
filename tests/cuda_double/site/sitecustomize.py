"""Python imports this first, in every process on the double: kernels are built for it, too."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

ENGINE = "metalbench.msl.engine"


class _Built(Loader):
    """The engine, with what builds kernels for GPUs replaced."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from cuda_double.build import replace_in

        self._own.exec_module(module)
        replace_in(module)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != ENGINE:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Built(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
