"""Page that suggests what to examine next in a run.

The page lists axes that the prompts leave unspecified, axes without counterfactual images, and
small groups.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew import registry
from askew.errors import AskewError
from askew.methods.audit.findings import AuditFindings
from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.plan import PromptPlan
from askew.studies.labeled_sets import prompt_plans
from askew.web.opened import OpenedRun
from askew.web.shell import page, sheet
from askew.web.site import Site

FEW_IMAGES = 5
"""Number of images below which a group counts as small."""

MOST_PROMPTS = 30
"""Maximum number of prompts for which the page makes suggestions."""

MOST_LISTED = 12
"""Maximum number of axes per suggestion."""


@dataclass(frozen=True, slots=True)
class GapProposal:
    """A suggestion: a sentence, and the command that carries it out."""

    text: str
    command: str = ""


def gaps_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that suggests what to examine next in the run."""
    run = site.opened.run(request.path_params["run"])
    prompts = prompt_plans(run.result.plan)[:MOST_PROMPTS]
    sections = (
        _section("Axes that nobody asked about", open_axes(run, prompts)),
        _section("Prompts and axes without counterfactuals", without_counterfactuals(run, prompts)),
        _section("Groups with few images", small_groups(run)),
    )
    back = tag("p", tag("a", "Report of the run", href=f"/runs/{run.facts.id}"))
    lead = (
        "askew derives these suggestions from the plan and the labels of this run. They are not "
        "findings."
    )
    title = "Not examined yet"
    return page(title, sheet(title, back, *sections, lead=lead), area="runs")


def _section(title: str, suggestions: Iterator[GapProposal]) -> Markup:
    items = []
    for suggestion in suggestions:
        command = tag("pre", suggestion.command) if suggestion.command else None
        items.append(tag("li", bdi(suggestion.text), command))
    content = tag("ul", *items) if items else tag("p", "Nothing.")
    return tag("section", tag("h2", title), content)


def open_axes(run: OpenedRun, prompts: Sequence[PromptPlan]) -> Iterator[GapProposal]:
    """Yield a suggestion for each prompt whose plan lacks axes that the prompt leaves unspecified.

    The lexicon determines which axes a prompt leaves unspecified.
    """
    writer = registry.writer("lexicon")
    for prompt in prompts:
        try:
            proposals = writer.propose(prompt.text, None, 0)
        except AskewError:
            continue
        planned = {axis.name for axis in prompt.axes}
        names = [each.axis.name for each in proposals if each.axis.name not in planned]
        if names:
            listed = words.listing([words.axis_label(name) for name in names[:MOST_LISTED]])
            text = f"{words.quote(prompt.text, 80)} leaves open: {listed}."
            yield GapProposal(text, _command(run, prompt.text, names[:MOST_LISTED]))


def without_counterfactuals(run: OpenedRun, prompts: Sequence[PromptPlan]) -> Iterator[GapProposal]:
    """Yield a suggestion for each prompt with axes that have no counterfactual images."""
    imaged = {(each.prompt, each.name.partition(": ")[0]) for each in run.sets}
    for prompt in prompts:
        names = [axis.name for axis in prompt.axes if (prompt.text, axis.name) not in imaged]
        if names:
            listed = words.listing([words.axis_label(name) for name in names[:MOST_LISTED]])
            text = f"{words.quote(prompt.text, 80)} has no counterfactual images of {listed}."
            yield GapProposal(text, _command(run, prompt.text, names[:MOST_LISTED]))


def small_groups(run: OpenedRun) -> Iterator[GapProposal]:
    """Yield a suggestion for each image set and axis if some values have only a few images."""
    findings = run.result.findings
    if not isinstance(findings, AuditFindings):
        return
    first = findings.plan.vqa[0]
    for entry in findings.shares:
        if not entry.of_prompt or entry.instrument != first:
            continue
        few = [f"{value} ({n})" for value, n in entry.counts.items() if n < FEW_IMAGES]
        if few:
            place = f"{words.quote(entry.prompt, 60)}, {words.set_label(entry.set)}"
            listed = words.listing([words.shorten(text, 40) for text in few[:MOST_LISTED]])
            yield GapProposal(
                f"{place}: fewer than {FEW_IMAGES} images are labeled {listed} on "
                f"{words.axis_label(entry.axis)}. Differences within these groups cannot be measured."
            )


def _command(run: OpenedRun, prompt: str, axes: Sequence[str]) -> str:
    """Return the command that audits these axes; empty if the run's images come from a folder."""
    model = str(getattr(run.result.plan, "model", ""))
    if not model or model.startswith("folder/"):
        return ""
    return shlex.join(["askew", "audit", prompt, "--model", model, "--axes", ",".join(axes)])
