"""askew measures the bias of text-to-image models.

>>> import askew
>>> result = askew.audit("a photo of a nurse", model="studio/planted", images=48)  # doctest: +SKIP
>>> result.mad("gender")  # doctest: +SKIP
"""

from importlib import import_module
from importlib.metadata import entry_points, version
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
    from askew.studies.compare.comparison import Comparison as Comparison
    from askew.studies.compare_downstream.comparison import TaskComparison as TaskComparison
    from askew.studies.rank import RankResult as RankResult
    from askew.studies.rank.command import rank as rank
    from askew.studies.watch.command import Watch as Watch
    from askew.studies.watch.command import watch as watch
    from askew.types import Axis as Axis
    from askew.types import Estimate as Estimate
    from askew.types import Missing as Missing
    from askew.types import Picture as Picture
    from askew.types import Prompt as Prompt
    from askew.types import Question as Question


__version__: str

MODULES = {
    "AskewError": "askew.errors",
    "AuditResult": "askew.methods.audit.findings",
    "Axis": "askew.types",
    "ClassificationResult": "askew.methods.classify.findings",
    "Comparison": "askew.studies.compare.comparison",
    "TaskComparison": "askew.studies.compare_downstream.comparison",
    "EditingResult": "askew.methods.edit.findings",
    "Estimate": "askew.types",
    "InteractionResult": "askew.methods.interact.findings",
    "MapResult": "askew.methods.map.findings",
    "MiningResult": "askew.methods.mine.findings",
    "Missing": "askew.types",
    "MitigationResult": "askew.methods.mitigate.findings",
    "Picture": "askew.types",
    "Plan": "askew.plan",
    "Prompt": "askew.types",
    "Question": "askew.types",
    "RankResult": "askew.studies.rank",
    "Watch": "askew.studies.watch.command",
    "Result": "askew.method",
    "load": "askew.method",
    "load_mitigation": "askew.mitigations.base",
    "read_plan": "askew.plan",
}
"""Names of the modules that define public classes and functions, keyed by public name.
"""

COMMANDS = {
    "audit": "askew.methods.audit.command",
    "classify": "askew.methods.classify.command",
    "compare": "askew.studies.compare.command",
    "edit": "askew.methods.edit.command",
    "interact": "askew.methods.interact.command",
    "map": "askew.methods.map.command",
    "mine": "askew.methods.mine.command",
    "mitigate": "askew.methods.mitigate.command",
    "rank": "askew.studies.rank.command",
    "watch": "askew.studies.watch.command",
}
"""Modules that define the functions behind commands, keyed by function name."""

for _point in entry_points(group="askew.methods"):  # methods of other packages
    COMMANDS.setdefault(_point.name.replace("-", "_"), f"{_point.module}.command")

__all__ = sorted({"__version__", *MODULES, *COMMANDS})


def __getattr__(name: str) -> object:
    """Import the object behind a public name on first use, so that `import askew` is fast."""
    if name == "__version__":
        return version("askew")
    if name in COMMANDS:
        from askew.signatures import with_listed_options

        command = getattr(import_module(COMMANDS[name]), name)
        globals()[name] = with_listed_options(command)
        return globals()[name]
    if name in MODULES:
        return getattr(import_module(MODULES[name]), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all public names, including names that are not loaded yet."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
