"""The command line: one module a command; options in, one call, a table out."""

from askew.oldcli import (  # noqa: F401  (each registers its commands)
    audit,
    compare,
    interact,
    mine,
    mine_compare,
    mine_study,
    runs,
)
from askew.oldcli.base import app

__all__ = ["app"]
