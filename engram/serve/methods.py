"""The operations as methods; `methods.pyi`, written by `make docs`, has their types."""

from __future__ import annotations

from engram.operations.table import OPERATIONS

TYPE_CHECKING = False  # loading typing would slow each program that imports this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.operations.table import Operation


class Methods:
    """A method for each operation; it returns the value of the result's type."""

    def call(self, operation: str, /, **params: Any) -> dict[str, Any]:
        """Call an operation by name; return its JSON."""
        raise NotImplementedError


def _method(operation: Operation) -> Callable[..., Any]:
    names = [param.name for param in operation.params if param.positional]
    names = names or [param.name for param in operation.params[:1]]

    def method(self: Methods, *args: Any, **params: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{operation.name}() takes {len(names)} positional values")
        given = dict(zip(names, args, strict=False))
        if twice := given.keys() & params.keys():
            raise TypeError(f"{operation.name}() got {twice.pop()!r} twice")
        from engram.operations import results

        result = self.call(operation.name, **given, **params)
        return results.typed(results.of(operation), result)

    method.__name__, method.__doc__ = operation.name, operation.help
    return method


for _operation in OPERATIONS:
    setattr(Methods, _operation.name, _method(_operation))
