"""Export of a study's questions and answers, and import of answers.

The supported formats are Label Studio, CSV, JSON Lines, Prolific and MTurk.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from askew.errors import UsageError
from askew.people.folder import IMAGES, StudyFolder, line_of
from askew.people.records import SPECIAL_ANSWERS, AnswerRecord, Item, RaterRecord
from askew.store.files import read_text, sha256, write_file
from askew.store.foreign import json_value

ExchangeFormat = Literal["label-studio", "csv", "jsonl", "mturk", "prolific"]

JOINT = "|"
"""Separator between the options that a rater chose."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters with which formulas start.

Spreadsheets would execute cells that start with these characters.
"""

CONTROL = "answer"
OBJECT = "image"
TASKS_FILE = "tasks.json"
CONFIG_FILE = "config.xml"


@dataclass(frozen=True)
class Columns:
    """Names of the columns in a table of answers.

    Attributes
    ----------
    rater, item, answer
        Names of the columns that contain the rater's id, the item's id and the answer.
    seconds
        Name of the column that contains the time per answer in seconds; empty if there is none.
    """

    rater: str = "rater"
    item: str = "item"
    answer: str = "answer"
    seconds: str = "seconds"


COLUMNS: Mapping[ExchangeFormat, Columns] = {
    "csv": Columns(),
    "mturk": Columns(
        rater="WorkerId", item="Input.item", answer="Answer.answer", seconds="WorkTimeInSeconds"
    ),
    "prolific": Columns(rater="PROLIFIC_PID"),
}
"""Default column names for each format."""

REJECTED = ("rejected", "returned", "timed-out")
"""askew does not import assignments with these values of AssignmentStatus or Status."""


def export_study(folder: StudyFolder, to: ExchangeFormat, output: Path) -> list[Path]:
    """Write a study's questions or answers to files, and return the paths of the files.

    Parameters
    ----------
    folder
        The study.
    to
        Format of the files. For mturk and prolific, the file contains the questions, as input for a
        batch.
    output
        Path of a folder for Label Studio; path of a file for all other formats.
    """
    if to == "label-studio":
        tasks = json.dumps(label_studio_tasks(folder), indent=1, ensure_ascii=False)
        return [
            write_file(output / TASKS_FILE, tasks.encode()),
            write_file(output / CONFIG_FILE, label_studio_config(folder).encode()),
        ]
    if to == "jsonl":
        lines = [line_of(answer) + b"\n" for answer in folder.answers().values()]
        return [write_file(output, b"".join(lines))]
    text = _answer_table(folder) if to == "csv" else _question_table(folder)
    return [write_file(output, text.encode())]


def import_answers(
    folder: StudyFolder, source: ExchangeFormat, file: Path, columns: Columns | None = None
) -> list[AnswerRecord]:
    """Add the answers from a file to a study, and return these answers.

    New raters get ids that do not reveal who they are.

    Parameters
    ----------
    folder
        The study.
    source
        Format of the file.
    file
        The file.
    columns
        Names of the columns in the file; None for the default names.

    Raises
    ------
    UsageError
        If the file cannot be read, or contains unknown items or answers.
    """
    if source == "label-studio":
        answers = _from_label_studio(folder, file)
    elif source == "jsonl":
        answers = _from_lines(file)
    else:
        answers = _from_table(file, columns or COLUMNS[source])
    for answer in answers:
        _check(folder, answer, file)
    renamed = _with_known_raters(folder, answers)
    earlier = [answer for answer in folder.all_answers() if answer not in renamed]
    folder.write_answers([*earlier, *renamed])
    return renamed


def label_studio_config(folder: StudyFolder) -> str:
    """Return Label Studio's labeling configuration, with the options of all items."""
    items = folder.items.values()
    options = dict.fromkeys(name for item in items for name in (*item.options, *item.special))
    is_multiple = any(item.multiple for item in items)
    choices = Markup("").join(
        Markup('<Choice value="{}"/>').format(SPECIAL_ANSWERS.get(name, name)) for name in options
    )
    kind = "multiple" if is_multiple else "single"
    return (
        "<View>"
        '<Header name="question" value="$question"/>'
        f'<Image name="{OBJECT}" value="$image"/>'
        f'<Choices name="{CONTROL}" toName="{OBJECT}" choice="{kind}" showInLine="true">'
        f"{choices}</Choices></View>"
    )


def label_studio_tasks(folder: StudyFolder) -> list[dict[str, Any]]:
    """Return one Label Studio task per item, with one annotation per answer."""
    numbers = {rater.id: rater.number + 1 for rater in folder.raters()}
    by_item: dict[str, list[AnswerRecord]] = {}
    for (_, name), answer in folder.answers().items():
        by_item.setdefault(name, []).append(answer)
    tasks = []
    for number, item in enumerate(folder.items.values(), 1):
        annotations = []
        for answer in by_item.get(item.id, ()):
            annotations.append(_annotation(answer, numbers[answer.rater]))
        image = f"{IMAGES}/{item.images[0]}.png" if item.images else ""
        data = {"item": item.id, "question": item.question, OBJECT: image, "axis": item.axis or ""}
        tasks.append({"id": number, "data": data, "annotations": annotations})
    return tasks


def _annotation(answer: AnswerRecord, number: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "id": sha256(f"{answer.rater} {answer.item}".encode())[:10],
        "from_name": CONTROL,
        "to_name": OBJECT,
        "type": "choices",
        "value": {"choices": [SPECIAL_ANSWERS.get(name, name) for name in answer.answer]},
    }
    if answer.text:
        result["meta"] = {"text": [answer.text]}
    annotation: dict[str, Any] = {"completed_by": number, "result": [result]}
    if answer.seconds is not None:
        annotation["lead_time"] = answer.seconds
    return annotation


def _from_label_studio(folder: StudyFolder, file: Path) -> list[AnswerRecord]:
    """Return the answers in a Label Studio export (JSON, JSON-MIN or CSV), or in a folder of tasks."""
    path = file / TASKS_FILE if file.is_dir() else file
    raters = {rater.number + 1: rater.id for rater in folder.raters()}
    answers = []
    text = read_text(path, "the tasks of Label Studio")
    try:
        is_table = path.suffix.lower() == ".csv"
        tasks: Iterable[Mapping[str, Any]] = (
            csv.DictReader(io.StringIO(text, newline="")) if is_table else json_value(text)
        )
        for task in tasks:
            if "data" not in task:
                answers.append(_from_flat_task(folder, task, raters))
            for annotation in task.get("annotations", ()):
                if not annotation.get("was_cancelled"):
                    answers.append(_annotated(folder, task, annotation, raters))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} does not contain valid Label Studio tasks: {error!r}") from error
    return answers


def _annotated(
    folder: StudyFolder,
    task: Mapping[str, Any],
    annotation: Mapping[str, Any],
    raters: Mapping[int, str],
) -> AnswerRecord:
    """Convert a Label Studio annotation to an answer."""
    result = next(each for each in annotation["result"] if each["from_name"] == CONTROL)
    by = annotation["completed_by"]
    number = by["id"] if isinstance(by, Mapping) else by
    seconds = annotation.get("lead_time")
    return AnswerRecord(
        rater=raters.get(number, f"label-studio {number}"),
        item=str(task["data"]["item"]),
        version=folder.plan.version,
        answer=_named(result["value"]["choices"]),
        text="\n".join(result.get("meta", {}).get("text", [])),
        seconds=None if seconds is None else float(seconds),
    )


def _from_flat_task(
    folder: StudyFolder, task: Mapping[str, Any], raters: Mapping[int, str]
) -> AnswerRecord:
    """Convert a record of a JSON-MIN or CSV export. Each record contains one annotation."""
    choices = task[CONTROL]
    if isinstance(choices, str) and choices.startswith("{"):
        choices = json_value(choices)
    if isinstance(choices, Mapping):
        choices = choices["choices"]
    by = str(task["annotator"])
    known = raters.get(int(by)) if by.isdecimal() else None
    seconds = task.get("lead_time")
    return AnswerRecord(
        rater=known or f"label-studio {by}",
        item=str(task["item"]),
        version=folder.plan.version,
        answer=_named([choices] if isinstance(choices, str) else choices),
        seconds=None if seconds in (None, "") else float(seconds),
    )


def _named(choices: Iterable[str]) -> tuple[str, ...]:
    """Convert the texts that Label Studio shows for special answers to the names of these answers."""
    names = {text: name for name, text in SPECIAL_ANSWERS.items()}
    return tuple(names.get(choice, choice) for choice in choices)


def _from_lines(file: Path) -> list[AnswerRecord]:
    answers = []
    for number, line in enumerate(read_text(file, "the answers").split("\n"), 1):
        if line.strip():
            try:
                content = json_value(line)
                answers.append(AnswerRecord(**{**content, "answer": tuple(content["answer"])}))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{file}, line {number}, is not a valid answer ({error!r})"
                ) from error
    return answers


def _from_table(file: Path, columns: Columns) -> list[AnswerRecord]:
    """Return the answers in a CSV file. Rejected assignments are left out."""
    reader = csv.DictReader(io.StringIO(read_text(file, "the answers"), newline=""))
    names = reader.fieldnames or ()
    for option, name in (
        ("--rater-column", columns.rater),
        ("--item-column", columns.item),
        ("--answer-column", columns.answer),
    ):
        if name not in names:
            raise UsageError(
                f"{file} has no column {name!r}. Name the column with {option}. Its columns are: "
                f"{', '.join(names)}"
            )
    rows = [row for row in reader if not _is_rejected(row)]
    return [_from_row(row, columns) for row in rows]


def _is_rejected(row: Mapping[str, str]) -> bool:
    states = (row.get("AssignmentStatus") or "", row.get("Status") or "")
    return any(state.strip().lower() in REJECTED for state in states)


def _from_row(row: Mapping[str, str], columns: Columns) -> AnswerRecord:
    cell = row[columns.answer]
    seconds = (row.get(columns.seconds) or "").strip()
    return AnswerRecord(
        rater=row[columns.rater].strip(),
        item=row[columns.item].strip(),
        version=int(row.get("version") or 1),
        answer=tuple(part.removeprefix("'") for part in cell.split(JOINT) if part),
        text=(row.get("text") or "").removeprefix("'"),
        seconds=float(seconds) if seconds else None,
    )


def _with_known_raters(folder: StudyFolder, answers: Sequence[AnswerRecord]) -> list[AnswerRecord]:
    """Replace the raters' ids with the ids in the study, and add new raters to the study."""
    raters = folder.raters()
    ids = {rater.id: rater.id for rater in raters}
    items: dict[str, list[str]] = {}
    for answer in answers:
        if answer.rater not in ids:
            ids[answer.rater] = f"x{sha256(answer.rater.encode())[:10]}"
        items.setdefault(ids[answer.rater], []).append(answer.item)
    known = {rater.id for rater in raters}
    for name, of_rater in items.items():
        if name not in known:
            raters.append(
                RaterRecord(
                    id=name,
                    number=len(raters),
                    token="",
                    items=tuple(dict.fromkeys(of_rater)),
                    consented=True,
                )
            )
    folder.write_raters([*raters, *folder.withdrawn_lines()])
    renamed = []
    for answer in answers:
        renamed.append(
            AnswerRecord(
                rater=ids[answer.rater],
                item=answer.item,
                version=answer.version,
                answer=answer.answer,
                text=answer.text,
                seconds=answer.seconds,
            )
        )
    return renamed


def _check(folder: StudyFolder, answer: AnswerRecord, file: Path) -> None:
    """Raise UsageError if the answered item or the chosen option does not exist in the study."""
    item: Item | None = folder.items.get(answer.item)
    if item is None:
        raise UsageError(
            f"{file} contains an answer to {answer.item!r}, which is not an item of the study"
        )
    for name in answer.answer:
        if name not in (*item.options, *item.special):
            known = ", ".join((*item.options, *item.special))
            raise UsageError(
                f"{file} contains the answer {name!r} to {answer.item}, which is not an option. "
                f"The options are: {known}"
            )


def _answer_table(folder: StudyFolder) -> str:
    rows = []
    for answer in folder.answers().values():
        item = folder.items[answer.item]
        rows.append(
            {
                "rater": answer.rater,
                "item": answer.item,
                "answer": JOINT.join(answer.answer),
                "text": answer.text,
                "seconds": "" if answer.seconds is None else repr(answer.seconds),
                "version": str(answer.version),
                "axis": item.axis or "",
                "image": item.images[0] if item.images else "",
                "role": item.role,
            }
        )
    names = "rater item answer text seconds version axis image role".split()
    return _table(names, rows)


def _question_table(folder: StudyFolder) -> str:
    rows = []
    for item in folder.items.values():
        rows.append(
            {
                "item": item.id,
                "question": item.question,
                "image": f"{IMAGES}/{item.images[0]}.png" if item.images else "",
                "options": JOINT.join((*item.options, *item.special)),
            }
        )
    return _table(["item", "question", "image", "options"], rows)


def _table(names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _without_formula(cell) for name, cell in row.items()})
    return text.getvalue()


def _without_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
