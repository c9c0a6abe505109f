"""Pages that raters see. The pages work without scripts, without a mouse, and on narrow screens."""

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from askew.pages.elements import tag
from askew.pages.words import capital, plural
from askew.people.assignment import is_mirrored
from askew.people.rating.state import Progress, StudyState, shown_answers
from askew.people.records import SPECIAL_ANSWERS, Item, StudyPlan

STYLE = "/static/rater.css"
SCRIPT = "/static/rater.js"
ICON = "/static/icon.svg"

LETTERS = "AB"
"""Names of the two groups of images that raters compare."""

MOST_KEYS = 9
"""Maximum number of answers that get keyboard shortcuts."""


def document(title: str, *content: object, script: bool = False) -> str:
    """Return a complete HTML page.

    Parameters
    ----------
    title
        Title of the page.
    *content
        Elements of the page.
    script
        Whether the page loads the script for keyboard shortcuts.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="robots", content="noindex"),
        tag("title", title),
        Markup(f'<link rel="stylesheet" href="{STYLE}">'),
        Markup(f'<link rel="icon" href="{ICON}">'),
        Markup(f'<script src="{SCRIPT}" defer></script>') if script else "",
    )
    body = tag("body", tag("main", *content))
    return f"<!doctype html>{tag('html', head, body, lang='en')}"


def consent(state: StudyState, progress: Progress, token: str) -> str:
    """Return the first page, which explains the study, the stored data, and the right to stop."""
    plan = state.plan
    questions = plural(len(progress.rater.items), "question")
    facts = (
        ("What it is about", plan.purpose),
        ("What you do", f"{plan.instruction} There are {questions}.{_further(state)}"),
        (
            "What is stored",
            "Your answers, and the time in seconds that you took for each answer. The study does not "
            "store your name or the address of your computer. Nothing is stored before you agree.",
        ),
        ("How long", f"Answers are kept {plan.retention}."),
        (
            "You may stop",
            "You can stop at any time without giving a reason. Your link reopens the study at the "
            "question where you stopped, even on another device. Choose “Withdraw” to delete all "
            "your answers.",
        ),
        ("Questions", f"Ask {plan.contact}."),
    )
    terms: list[object] = []
    for name, text in facts:
        terms += [tag("dt", name), tag("dd", text)]
    return document(
        plan.title,
        tag("h1", plan.title),
        tag("dl", *terms),
        _form(f"/s/{token}", "I agree and start", kind="primary"),
    )


def question(state: StudyState, progress: Progress, token: str, item: Item, fault: str = "") -> str:
    """Return the page with an item's question.

    Parameters
    ----------
    state
        State of the study.
    progress
        Progress of the rater.
    token
        Secret part of the rater's link.
    item
        The item.
    fault
        Sentence that states why the last answer was refused; empty if no answer was refused.
    """
    address = f"/s/{token}/{item.id}"
    hidden = Markup(f'<input type="hidden" name="shown" value="{state.stamp(item.id)}">')
    shown = _shown(state, progress, item)
    answers = _multiple(progress, item, shown) if item.multiple else _single(progress, item, shown)
    text = tag("textarea", name="text", rows="3", maxlength="2000", aria_label="Further answer")
    free = tag("label", tag("span", "Anything else? One per line."), text) if item.free_text else ""
    form = tag("form", hidden, *answers, free, *_submit(item), method="post", action=address)
    return document(
        state.plan.title,
        _bar(progress),
        tag("p", fault, class_="fault", role="alert") if fault else "",
        tag("h1", item.question, id="question"),
        tag("p", f"“{item.prompt}”", class_="prompt") if item.prompt else "",
        _images(state, progress, token, item),
        form,
        _links(progress, token, item.id),
        script=True,
    )


def _submit(item: Item) -> Iterable[Markup]:
    if item.multiple:
        key = tag("kbd", "Enter")
        yield tag("button", "Next ", key, type="submit", class_="primary", data_key="Enter")


def _shown(state: StudyState, progress: Progress, item: Item) -> dict[str, str]:
    """Return the texts of all possible answers, in the order in which the rater sees them.

    If the rater sees the two groups of images in swapped order, the texts of the first two answers
    are also swapped.
    """
    answers = list(shown_answers(item, progress.rater.number))
    texts = {answer: item.texts.get(answer, answer_text(answer)) for answer in answers}
    if is_mirrored(item, progress.rater.number, state.plan.seed):
        first, second, *others = answers
        swapped = {first: texts[second], second: texts[first]}
        texts = {name: (texts | swapped)[name] for name in (second, first, *others)}
    return texts


def _single(progress: Progress, item: Item, shown: Mapping[str, str]) -> list[Markup]:
    """Return a button for each possible answer."""
    given = progress.answers.get(item.id)
    chosen = given.answer if given else ()
    buttons = []
    for number, (answer, text) in enumerate(shown.items(), 1):
        key = str(number) if number <= MOST_KEYS else None
        buttons.append(
            tag(
                "button",
                tag("kbd", key) if key else "",
                tag("span", text),
                type="submit",
                name="answer",
                value=answer,
                accesskey=key,
                data_key=key,
                class_="option chosen" if answer in chosen else "option",
                aria_current="true" if answer in chosen else None,
            )
        )
    return [tag("div", *buttons, class_="options", role="group", aria_labelledby="question")]


def _multiple(progress: Progress, item: Item, shown: Mapping[str, str]) -> list[Markup]:
    """Return a checkbox for each possible answer."""
    given = progress.answers.get(item.id)
    chosen = given.answer if given else ()
    boxes = []
    for number, (answer, text) in enumerate(shown.items(), 1):
        key = str(number) if number <= MOST_KEYS else None
        box = Markup('<input type="checkbox" name="answer" value="{}"{}{}>').format(
            answer,
            Markup(" checked") if answer in chosen else "",
            Markup(f' data-key="{key}"') if key else "",
        )
        boxes.append(tag("label", box, tag("span", text), class_="option"))
    return [tag("div", *boxes, class_="options", role="group", aria_labelledby="question")]


def answer_text(answer: str) -> str:
    """Return the text shown to raters for an answer."""
    return SPECIAL_ANSWERS.get(answer, capital(answer))


def _images(state: StudyState, progress: Progress, token: str, item: Item) -> Markup:
    """Return an item's images. Groups of images are shown side by side."""
    places = list(range(len(item.groups)))
    if is_mirrored(item, progress.rater.number, state.plan.seed):
        places.reverse()
    groups = []
    for shown, place in enumerate(places):
        group = item.groups[place]
        images = [_image(token, digest, number, len(group)) for number, digest in enumerate(group)]
        label = f"{LETTERS[shown]}: {item.labels[place]}" if item.labels else ""
        caption = tag("h2", label) if label else ""
        grid = "images single" if len(group) == 1 else "images"
        groups.append(tag("section", caption, tag("div", *images, class_=grid)))
    kind = "groups pair" if len(groups) > 1 else "groups"
    return tag("div", *groups, class_=kind) if groups else Markup("")


def _image(token: str, digest: str, number: int, count: int) -> Markup:
    alt = "Image of the question" if count == 1 else f"Image {number + 1} of {count}"
    return tag("img", src=f"/s/{token}/image/{digest}", alt=alt)


def done(state: StudyState, progress: Progress, token: str) -> str:
    """Return the last page, which thanks the rater."""
    return document(
        state.plan.title,
        tag("h1", "Thank you"),
        tag("p", f"All your answers are stored. You can close this page.{_further(state)}"),
        _links(progress, token, None),
    )


def _further(state: StudyState) -> str:
    """Return a sentence that announces a second stage; empty if there is none."""
    if state.plan.pilot is None or state.folder.second_items:
        return ""
    return " Your link may show more questions later."


def withdrawal(plan: StudyPlan, token: str) -> str:
    """Return the page that asks whether to delete all answers."""
    return document(
        plan.title,
        tag("h1", "Withdraw from the study?"),
        tag("p", "This deletes all your answers. Your link will no longer work."),
        _form(f"/s/{token}/withdraw", "Delete my answers", kind="danger"),
        tag("p", tag("a", "Back to the study", href=f"/s/{token}")),
    )


def withdrawn(plan: StudyPlan) -> str:
    """Return the page that confirms a withdrawal."""
    return message(plan.title, "Your answers were deleted", "You can close this page.")


def message(title: str, heading: str, text: str) -> str:
    """Return a page with only a heading and a sentence."""
    return document(title, tag("h1", heading), tag("p", text))


def _form(address: str, text: str, kind: str) -> Markup:
    button = tag("button", text, type="submit", class_=kind)
    return tag("form", button, method="post", action=address)


def _bar(progress: Progress) -> Markup:
    """Return a progress bar that shows how many questions are answered."""
    items = progress.rater.items
    answered = sum(name in progress.answers for name in items)
    text = f"{answered} of {len(items)} answered"
    bar = Markup('<progress max="{}" value="{}" aria-label="{}"></progress>').format(
        len(items), answered, text
    )
    return tag("header", bar, tag("span", text))


def _links(progress: Progress, token: str, item: str | None) -> Markup:
    """Return the links to the previous question and to the withdrawal page."""
    before = progress.before(item)
    links: list[object] = []
    if before is not None:
        links.append(
            tag(
                "a",
                "Undo: previous question",
                href=f"/s/{token}/{before}",
                data_key="u",
                rel="prev",
            )
        )
    links.append(tag("a", "Withdraw", href=f"/s/{token}/withdraw"))
    pause = "To pause, close this page. Your link opens it again." if item is not None else ""
    return tag("footer", *_spaced(links), tag("span", pause))


def _spaced(links: Sequence[object]) -> Iterable[object]:
    for link in links:
        yield link
        yield " "
