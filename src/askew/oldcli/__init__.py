"""The command line: one module a command; options in, one call, a table out."""

from askew.oldcli import (  # noqa: F401  (each registers its commands)
    audit,
    classify,
    compare,
    edit,
    interact,
    runs,
)
from askew.oldcli.base import app

__all__ = ["app"]
