"""A plugin of mypy: the groups of `engram/core/policy.py` have the fields of the table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mypy.nodes import StrExpr
from mypy.plugin import Plugin
from mypy.plugins.common import add_attribute_to_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.plugin import ClassDefContext, ReportConfigContext

TABLE = tomllib.loads(
    (Path(__file__).parents[1] / "engram/core/policy.toml").read_text("utf-8")
)


class PolicyTypes(Plugin):
    """Types each number by its value in `policy.toml`."""

    def get_base_class_hook(
        self, fullname: str
    ) -> Callable[[ClassDefContext], None] | None:
        """Return the hook for the classes of groups."""
        return _add_numbers if fullname == "engram.core.policy.Numbers" else None

    def report_config_data(self, _ctx: ReportConfigContext) -> Any:
        """Return the table, so that mypy checks everything again when it changes."""
        return TABLE


def _add_numbers(ctx: ClassDefContext) -> None:
    group = ctx.cls.keywords["group"]
    assert isinstance(group, StrExpr)
    for name, (value, *_) in TABLE[group.value].items():
        number = ctx.api.named_type(f"builtins.{type(value).__name__}")
        add_attribute_to_class(ctx.api, ctx.cls, name, number)


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin: mypy calls this."""
    return PolicyTypes
