"""askew measures which way text-to-image models lean.

>>> import askew
>>> result = askew.audit("a photo of a nurse", model="studio/planted", images=48)  # doctest: +SKIP
>>> result.mad("gender")  # doctest: +SKIP
"""

import re
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew.errors import AskewError as AskewError
    from askew.method import Result as Result
    from askew.method import load as load
    from askew.methods.audit.command import audit as audit
    from askew.methods.audit.findings import AuditResult as AuditResult
    from askew.methods.classify.command import classify as classify
    from askew.methods.classify.findings import ClassificationResult as ClassificationResult
    from askew.methods.edit.command import edit as edit
    from askew.methods.edit.findings import EditingResult as EditingResult
    from askew.methods.interact.command import interact as interact
    from askew.methods.interact.findings import InteractionResult as InteractionResult
    from askew.methods.map.command import map as map
    from askew.methods.map.findings import MapResult as MapResult
    from askew.methods.mine.command import mine as mine
    from askew.methods.mine.findings import MiningResult as MiningResult
    from askew.methods.mitigate.command import mitigate as mitigate
    from askew.methods.mitigate.findings import MitigationResult as MitigationResult
    from askew.mitigations.base import load_mitigation as load_mitigation
    from askew.plan import Plan as Plan
    from askew.plan import read_plan as read_plan
    from askew.studies.compare.command import compare as compare
    from askew.studies.compare.findings import Comparison as Comparison
    from askew.studies.rank import RankResult as RankResult
    from askew.studies.rank.command import rank as rank
    from askew.types import Axis as Axis
    from askew.types import Estimate as Estimate
    from askew.types import Missing as Missing
    from askew.types import Picture as Picture
    from askew.types import Prompt as Prompt
    from askew.types import Question as Question


__version__: str

_HOMES = {
    name: home
    for home, name in re.findall(r"from (\S+) import (\w+) as", Path(__file__).read_text("utf-8"))
}
"""By public name its module, as type checkers are told above."""

_HOMES |= {
    point.name.replace("-", "_"): f"{point.module}.command"
    for point in entry_points(group="askew.methods")
}
"""The functions of all methods that are installed, also by other packages."""

__all__ = sorted({"__version__", *_HOMES})


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first asked for, so that `import askew` is quick."""
    if name == "__version__":
        return version("askew")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")
