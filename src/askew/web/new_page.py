"""Form for starting a new run in three steps: what to measure, how to measure it, and the cost."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import RedirectResponse, Response

from askew import registry
from askew.errors import UsageError
from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.plan import PLAN_FILE
from askew.presets import presets
from askew.store.store import default_store
from askew.web.command_form import (
    PROMPTS,
    CommandForm,
    OptionField,
    command_form,
    command_line,
    methods,
    prompts_in,
)
from askew.web.jobs import new_identity
from askew.web.marks_page import SEE_OTHER
from askew.web.sent_form import SentForm
from askew.web.shell import choice, form, page, sheet
from askew.web.site import Site

STEPS = {"what": "1. What", "how": "2. How", "cost": "3. Cost"}
ACTION = "/new"
START = "/new/start"
PREVIEW = "/new/preview"
PLAN = f"/new/{PLAN_FILE}"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""Pattern for the names that the form accepts for run folders."""

LONGEST_COUNT = 120
"""Time limit, in seconds, for counting the work that a command requires."""

PREVIEW_IMAGES = 4
PREVIEWS = ".web/previews"
PREVIEW_OPTIONS = {
    "audit": ("--counterfactuals", "none", "--embedder", "none"),
    "interact": (),
    "rank": (),
}
"""Options that make the preview short, keyed by the methods that have a preview."""

NOT_SENT = frozenset(("token", "step", "job"))


def new_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page of the first step, which asks for the command, prompts and model."""
    method = request.query_params.get("command", "audit")
    return _what(site, command_form(method), SentForm({}))


def new_step(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Return the page of the requested step, with the values from earlier steps."""
    chosen = command_form(sent.text("command") or "audit")
    step = sent.text("step")
    if step == "what":
        return _what(site, chosen, sent)
    if step == "cost":
        return _cost(site, chosen, sent)
    return _how(site, chosen, sent)


def _what(site: Site, chosen: CommandForm, sent: SentForm) -> Response:
    """Return the page of the first step, filled in with the submitted values."""
    token = site.session.form_token(ACTION)
    points = registry.providers("method")
    commands = {name: f"{name}: {registry.summary(points[name])}" for name in methods()}
    switch = tag(
        "form",
        tag(
            "div",
            choice("command", commands, chosen.method, "Command"),
            _plain("Choose"),
            class_="fields",
        ),
        method="get",
        action=ACTION,
    )
    fields = []
    if chosen.takes_prompts:
        area = tag("textarea", sent.text(PROMPTS), name=PROMPTS, rows=4, maxlength=100_000)
        label = "Prompts, one per line, such as: a photo of a nurse"
        fields.append(tag("p", tag("label", tag("span", label), area)))
    options = [_option(option, sent) for option in chosen.first()]
    content = form(
        ACTION,
        token,
        *fields,
        tag("div", *options, class_="options"),
        _button("how", "Next: how"),
        hidden=_carried(
            sent, {PROMPTS, *(option.name for option in chosen.first())}, chosen.method
        ),
    )
    return _step_page("what", switch, content)


def _how(site: Site, chosen: CommandForm, sent: SentForm) -> Response:
    """Return the page of the second step, which asks for all other options, grouped by section."""
    sections = []
    for number, (name, options) in enumerate(chosen.groups.items()):
        given = any(sent.texts(option.name) for option in options)
        fields = tag("div", *(_option(option, sent) for option in options), class_="options")
        is_open = given or number == 0
        sections.append(tag("details", tag("summary", name), fields, open=is_open))
    names = {option.name for of_group in chosen.groups.values() for option in of_group}
    folder = tag(
        "label",
        tag("span", "Name of the run folder (optional)"),
        tag("input", type="text", name="folder", value=sent.text("folder"), maxlength=80),
    )
    content = form(
        ACTION,
        site.session.form_token(ACTION),
        *sections,
        tag("p", folder),
        _button("cost", "Next: cost"),
        _button("what", "Back", "plain"),
        hidden=_carried(sent, {*names, "folder"}, chosen.method),
    )
    lead = "Each field sets an option of the command. If a field is empty, the default is used."
    return _step_page("how", tag("p", lead), content)


def _cost(site: Site, chosen: CommandForm, sent: SentForm) -> Response:
    """Return the page of the last step: the required work, the command and the buttons."""
    identity = sent.text("job") or new_identity()
    arguments = arguments_of(site, chosen, sent, identity)
    carried = _carried(sent, {"job"}, chosen.method)
    back = form(
        ACTION,
        site.session.form_token(ACTION),
        _button("how", "Back", "plain"),
        hidden=carried,
    )
    try:
        counted = count_work(arguments)
    except UsageError as error:
        fault = tag("p", bdi(str(error)), role="alert", class_="warnings")
        return _step_page("cost", fault, back)
    command = tag("section", tag("h2", "Command"), tag("pre", command_line(arguments), tabindex=0))
    hidden = [*carried, ("job", identity)]
    buttons = []
    if site.is_read_only:
        buttons.append(tag("p", "The app was started with --read-only, so it starts no runs."))
    else:
        start = tag("button", "Start")
        buttons.append(form(START, site.session.form_token(START), start, hidden=hidden))
        token = site.session.form_token(PLAN)
        buttons.append(form(PLAN, token, _plain("Save plan.toml"), hidden=hidden))
        if chosen.method in PREVIEW_OPTIONS:
            preview = _plain(f"Preview {PREVIEW_IMAGES} images")
            token = site.session.form_token(PREVIEW)
            buttons.append(form(PREVIEW, token, preview, hidden=hidden))
    work = tag("section", tag("h2", "Work"), tag("pre", counted, tabindex=0))
    return _step_page("cost", work, command, tag("div", *buttons, back, class_="fields"))


def start_run(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Add the run to the queue, and redirect to the job's page."""
    chosen = command_form(sent.text("command"))
    identity = sent.text("job")
    arguments = arguments_of(site, chosen, sent, identity)
    job = site.jobs.add(identity, arguments, Path(arguments[-1]))
    return RedirectResponse(f"/jobs/{job.id}", SEE_OTHER)


def save_plan(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Return the run's plan as a file for `askew COMMAND --plan FILE`."""
    chosen = command_form(sent.text("command"))
    arguments = arguments_of(site, chosen, sent, sent.text("job") or new_identity())
    with TemporaryDirectory() as folder:
        file = Path(folder) / PLAN_FILE
        count_work([*arguments, "--save-plan", str(file)])
        content = file.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{PLAN_FILE}"'}
    return Response(content, media_type="application/toml", headers=headers)


def preview_run(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Add a preview with a few images to the queue, and redirect to the job's page."""
    chosen = command_form(sent.text("command"))
    if chosen.method not in PREVIEW_OPTIONS:
        raise UsageError(f"`askew {chosen.method}` has no preview")
    prompts = prompts_in(sent)
    fields = {name: values for name, values in sent.fields.items() if name in PREVIEWED}
    first = SentForm({**fields, PROMPTS: prompts[:1]})
    identity = new_identity()
    run = site.home / PREVIEWS / identity
    arguments = [
        *chosen.arguments(first),
        "--images",
        str(PREVIEW_IMAGES),
        *PREVIEW_OPTIONS[chosen.method],
        "--store",
        str(default_store(site.home / "any")),
        "--run",
        str(run),
    ]
    job = site.jobs.add(identity, arguments, run, is_preview=True)
    return RedirectResponse(f"/jobs/{job.id}", SEE_OTHER)


PREVIEWED = frozenset(
    (
        "model",
        "preset",
        "model_args",
        "model_url",
        "axes",
        "vqa",
        "vqa_args",
        "vqa_url",
        "seed",
        "offload",
    )
)
"""Options that a preview copies from the run so that the preview generates the same images."""


def arguments_of(site: Site, chosen: CommandForm, sent: SentForm, identity: str) -> list[str]:
    """Convert a form to command-line arguments for `askew`, which end with the run folder.

    Raises
    ------
    UsageError
        If the form does not describe a valid command.
    """
    name = sent.text("folder")
    if name and not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a run folder. Use letters, digits, dots, hyphens and "
            "underscores"
        )
    if not name:
        text = "-".join(prompts_in(sent)[:1]) if chosen.takes_prompts else ""
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")
        name = "-".join(part for part in (chosen.method, slug, identity[:6]) if part)
    return [*chosen.arguments(sent), "--run", str(site.home / name)]


def count_work(arguments: Sequence[str]) -> str:
    """Do a dry run of a command in another process, and return a description of the required work.

    Raises
    ------
    UsageError
        If the command rejects its arguments, or the dry run takes too long.
    """
    command = [sys.executable, "-m", "askew", *arguments, "--dry-run"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_COUNT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"counting the work took longer than {LONGEST_COUNT} seconds. Run the command with "
            "--dry-run in a terminal"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.split("\n") if not line.startswith("{")]
        raise UsageError(" ".join(lines).strip().removeprefix("askew: ") or "the command failed")
    return words.clean(done.stdout.strip())


def _step_page(step: str, *content: object) -> Response:
    items = [
        tag("li", name, aria_current="step" if key == step else None) for key, name in STEPS.items()
    ]
    steps = tag("ol", *items, class_="steps")
    return page("New run", sheet("New run", steps, *content), area="new")


def _button(step: str, text: str, kind: str | None = None) -> Markup:
    return tag("button", text, name="step", value=step, class_=kind)


def _plain(text: str) -> Markup:
    return tag("button", text, class_="plain")


def _carried(sent: SentForm, shown: set[str], method: str) -> list[tuple[str, str]]:
    """Return the values that the user entered in other steps.

    The form of this step passes these values on in hidden fields.
    """
    pairs = [("command", method)]
    for name, values in sent.fields.items():
        if name not in shown and name not in NOT_SENT and name != "command":
            pairs += [(name, value) for value in values if value.strip()]
    return pairs


def _option(option: OptionField, sent: SentForm) -> Markup:
    """Return the form field for an option, together with its help text."""
    small = tag("small", option.help.replace("`", ""))
    value = sent.text(option.name)
    if option.kind == "flag":
        box = tag("input", type="checkbox", name=option.name, value="on", checked=bool(value))
        return tag("label", tag("span", option.spelling), box, small)
    if option.kind == "choice":
        options = {"": "default"} | {name: name for name in option.choices}
        return choice(option.name, options, value, option.spelling, small)
    if option.kind == "lines":
        field = tag("textarea", "\n".join(sent.texts(option.name)), name=option.name, rows=2)
        return tag("label", tag("span", f"{option.spelling} (one per line)"), field, small)
    known = list(_suggestions(option.name))
    listing = f"known-{option.name}" if known else None
    field = tag("input", type="text", name=option.name, value=value, maxlength=4000, list=listing)
    names = tag("datalist", *(tag("option", value=name) for name in known), id=listing)
    return tag("label", tag("span", option.spelling), field, names if known else None, small)


def _suggestions(name: str) -> Iterator[str]:
    """Yield values that the browser suggests for an option."""
    if name == "preset":
        yield from presets()
    if name == "model":
        yield from ("studio", "studio/planted", "diffusers/", "openai/")
