"""askew models."""

from __future__ import annotations

import json

from askew.api import providers as api
from askew.oldcli.base import app, out
from askew.oldcli.options import AsJson
from askew.report.terminal import providers_table


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the models, instruments and presets that can be named on the command line.

    Example: `askew models`
    """
    rows = api.list_providers()
    out.print_json(json.dumps(rows)) if as_json else out.print(providers_table(rows))
