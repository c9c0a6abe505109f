"""Write and check evidence packs, which contain everything needed to check a run.

A pack is a folder or a zip file that you can send to another person. It contains these files:

    README.md           contents, and how to check them
    evidence.json       the run, and the ids of all images
    report.html         the report, with notes
    results.json        the findings
    plan.toml           the plan
    plan.hash           hash of the plan
    estimates.csv       all estimates
    labels.csv          all labels of each image, from instruments and from people
    method.md           definitions, method and limits, and how to repeat the run
    annotations.jsonl   corrected labels, flags and notes, if there are any
    images/             image files, each named after its SHA-256
    SHA256SUMS          checksums of all files except images

The check needs only the pack. For an audit, the check also recounts the labels and compares the
counts with the results.
"""

import csv
import io
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from askew import findings
from askew.document import as_text, without_formula
from askew.errors import AskewError, RunError, UsageError
from askew.findings import RESULTS_FILE
from askew.method import method_of
from askew.methods.audit.findings import AuditFindings
from askew.pages import html, plain
from askew.pages.blocks import Block, Details, Section
from askew.plan import PLAN_FILE
from askew.run.annotations import read_annotations
from askew.run.folder import ANNOTATIONS_FILE, HASH_FILE, REPORT_FILE
from askew.store.entries import is_regular, read_bytes
from askew.store.files import (
    SUMS_FILE,
    changed_files,
    explain_os_error,
    sha256,
    write_file,
    write_sums,
)
from askew.store.foreign import json_value
from askew.store.imagefile import SUFFIXES
from askew.store.rows import is_image_id
from askew.store.store import Store
from askew.studies.labeled_sets import AnyResult, labeled_sets
from askew.types import Missing, record

EVIDENCE_FILE = "evidence.json"
LABELS_FILE = "labels.csv"
ESTIMATES_FILE = "estimates.csv"
METHOD_FILE = "method.md"
README_FILE = "README.md"
IMAGES = "images"

FORMAT = 1
COLUMNS = (
    "image",
    "prompt",
    "set",
    "number",
    "seed",
    "axis",
    "instrument",
    "label",
    "reason",
    "by_hand",
)

METHOD_SECTIONS = ("How to read this", "Reproduce this run")
NEEDED = (
    README_FILE,
    EVIDENCE_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    PLAN_FILE,
    HASH_FILE,
    ESTIMATES_FILE,
    LABELS_FILE,
    METHOD_FILE,
)
"""Files of every pack."""

ENTRY = re.compile(rf"(?:[A-Za-z0-9][A-Za-z0-9._-]*|{IMAGES}/[0-9a-f]{{64}}\.(?:png|jpg|webp))")
"""Pattern that the names of all entries of a zip file must match."""

MOST_BYTES = 2**35
"""Maximum total size of a zip file's extracted content, in bytes (32 GiB)."""

MOST_FAULTS = 20

README = """# Evidence for a run of askew

{answer}

{meta}

- `report.html` is the report. `method.md` contains definitions, method and limits.
- `labels.csv` contains all labels of each image, from instruments and from people. Seeds start
  with an apostrophe, because spreadsheets and JavaScript would round 63-bit numbers.
- `estimates.csv` contains all estimates with their intervals.
- `images/` contains the images of all image sets. Each file is named after its SHA-256.
- `results.json`, `plan.toml` and `plan.hash` are copies of the run's files.

Check the pack with `askew check PACK`. The check verifies all checksums, opens the results, and
recounts the labels of an audit. To verify the checksums of the files without askew, use
`sha256sum --check SHA256SUMS`.

Checksums reveal only accidental changes, because anyone who can change a file can also change its
checksum. To be able to prove that a pack is the original, publish the SHA-256 of SHA256SUMS:
{command}

Attributes are perceived, and instruments make errors. The images may show people. Share the pack
only with people who may see the images.
"""


@record
class PackContent:
    """Content of evidence.json.

    Attributes
    ----------
    format : int
        Version of the pack format.
    askew, method, plan_hash : str
        Version of askew, name of the method, and hash of the plan.
    images : mapping of str to str
        File suffix of each image, keyed by image id.
    missing : tuple of str
        Ids of images whose files are missing or damaged.
    """

    format: int
    askew: str
    method: str
    plan_hash: str
    images: Mapping[str, str]
    missing: tuple[str, ...] = ()


def write_evidence(result: AnyResult, output: Path) -> Path:
    """Write the evidence pack of a run.

    Parameters
    ----------
    result
        A finished run.
    output
        Folder or file to create. A file's name must end in ".zip".

    Returns
    -------
    Path
        Path of the written folder or file.

    Raises
    ------
    UsageError
        If the folder or file already exists.
    RunError
        If a file cannot be written.
    """
    if output.exists():
        raise UsageError(f"{output} already exists. Name a new folder or file with --output")
    if output.suffix != ".zip":
        _write_folder(result, output)
        return output
    with tempfile.TemporaryDirectory(dir=_parent_of(output)) as folder:
        content = Path(folder) / "pack"
        _write_folder(result, content)
        _write_zip(content, output)
    return output


def _parent_of(output: Path) -> Path:
    """Return the folder that contains a file. Raise UsageError if the folder does not exist."""
    parent = output.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"the folder {parent} for the pack does not exist")
    return parent


def _write_folder(result: AnyResult, folder: Path) -> None:
    page = result.page
    sections = [each for each in page.sections if each.title in METHOD_SECTIONS]
    method = replace(page, first=None, sections=tuple(map(_unfolded, sections)))
    command = f"`sha256sum {SUMS_FILE}`"
    texts = {
        README_FILE: README.format(answer=page.answer, meta=page.meta, command=command),
        METHOD_FILE: plain.markdown(method),
        REPORT_FILE: html.page(page),
        ESTIMATES_FILE: str(result.export("csv")),
        LABELS_FILE: _labels_table(result),
        EVIDENCE_FILE: _adapter.dump_json(_copy_images(result, folder), indent=1).decode(),
    }
    for name, text in texts.items():
        write_file(folder / name, text.encode("utf-8", "replace"))
    copied = [RESULTS_FILE, PLAN_FILE, HASH_FILE]
    if is_regular(result.folder / ANNOTATIONS_FILE):
        copied.append(ANNOTATIONS_FILE)
    try:
        for name in copied:
            write_file(folder / name, read_bytes(result.folder / name, follow=False))
    except OSError as error:
        raise RunError(f"the folder {result.folder} {explain_os_error(error)}") from error
    write_sums(folder, [*texts, *copied])


def _unfolded(section: Section) -> Section:
    """Return a copy of the section with all collapsed details expanded, for plain-text output."""
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Details):
            blocks.append(_unfolded(Section(block.summary, block.blocks)))
        else:
            blocks.append(block)
    return Section(section.title, tuple(blocks))


def _copy_images(result: AnyResult, folder: Path) -> PackContent:
    """Copy the images of all sets to a pack, and return the content of evidence.json."""
    head = result.findings
    names = [name for image_set in head.sets for name in image_set.pictures if name is not None]
    with Store(result.store, create=False) as store:
        files = store.known_files(dict.fromkeys(names))
    suffixes: dict[str, str] = {}
    missing = []
    for name in dict.fromkeys(names):
        data = b""
        if name in files:
            with suppress(OSError):
                data = read_bytes(files[name], follow=False)
        if sha256(data) == name:
            suffixes[name] = files[name].suffix
            write_file(folder / IMAGES / f"{name}{files[name].suffix}", data)
        else:
            missing.append(name)
    return PackContent(
        format=FORMAT,
        askew=head.askew,
        method=result.method.name,
        plan_hash=head.plan_hash,
        images=suffixes,
        missing=tuple(missing),
    )


_adapter: TypeAdapter[PackContent] = TypeAdapter(PackContent)


def _labels_table(result: AnyResult) -> str:
    """Return all labels of all images as CSV text."""
    by_hand = read_annotations(result.folder).labels
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in labeled_sets(result):
        for image in each.images:
            for instrument, by_axis in image.labels.items():
                for axis, label in by_axis.items():
                    is_missing = isinstance(label, Missing)
                    row = (
                        image.id,
                        each.prompt,
                        each.name,
                        image.number,
                        "" if image.seed is None else as_text(image.seed),
                        axis,
                        instrument,
                        "" if is_missing else label,
                        label.reason if isinstance(label, Missing) else "",
                        by_hand.get((str(image.id), axis), ""),
                    )
                    writer.writerow([without_formula(value) for value in row])
    return text.getvalue()


def _write_zip(folder: Path, output: Path) -> None:
    """Write a folder as a zip file.

    Images are already compressed, so they are stored without further compression.
    """
    try:
        with zipfile.ZipFile(output, "x", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    is_image = file.parent != folder
                    kind = zipfile.ZIP_STORED if is_image else zipfile.ZIP_DEFLATED
                    archive.write(file, file.relative_to(folder).as_posix(), kind)
    except OSError as error:
        raise RunError(f"the file {output} {explain_os_error(error)}") from error


def is_evidence(path: Path) -> bool:
    """Check whether a path is an evidence pack: a zip file, or a folder with evidence.json."""
    if path.is_dir():
        return (path / EVIDENCE_FILE).exists()
    return path.suffix == ".zip" and is_regular(path)


def check_evidence(path: Path) -> list[str]:
    """Check an evidence pack.

    Parameters
    ----------
    path
        The folder or the zip file.

    Returns
    -------
    list of str
        Lines of text that describe the pack, if it is intact.

    Raises
    ------
    AskewError
        If the pack is damaged or changed. The message lists the faults.
    """
    if path.is_dir():
        return _checked(path, path)
    with tempfile.TemporaryDirectory() as folder:
        _extract(path, Path(folder))
        return _checked(Path(folder), path)


def _extract(path: Path, folder: Path) -> None:
    """Extract a zip file. Raise AskewError if the file has entries that do not belong to a pack."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            names = [entry.filename for entry in entries]
            unknown = [name for name in names if not ENTRY.fullmatch(name)]
            if unknown or size > MOST_BYTES or len(set(names)) < len(names):
                raise AskewError(f"{path} is not an evidence pack of askew")
            for entry in entries:
                target = folder / entry.filename
                target.parent.mkdir(exist_ok=True)
                with archive.open(entry) as source, target.open("xb") as copy:
                    while chunk := source.read(2**20):
                        copy.write(chunk)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise AskewError(f"{path} cannot be read: {error}") from error


def _checked(folder: Path, path: Path) -> list[str]:
    faults = [f"{name} {fault}" for name, fault in changed_files(folder, NEEDED).items()]
    faults += [f"{name} is gone" for name in NEEDED if not is_regular(folder / name)]
    faults = list(dict.fromkeys(faults))
    lines = []
    if not faults:
        try:
            content = _adapter.validate_python(json_value(read_bytes(folder / EVIDENCE_FILE)))
            faults += _image_faults(folder, content)
            faults += _result_faults(folder, content)
            lines = _report(folder, content)
        except (ValueError, ValidationError, OSError, AskewError) as error:
            faults.append(f"the pack cannot be read: {error}")
    if faults:
        listed = faults[:MOST_FAULTS]
        more = len(faults) - len(listed)
        if more:
            listed.append(f"and {more} more")
        raise AskewError("\n".join([*listed, f"the evidence pack {path} has changed"]))
    return lines


def _report(folder: Path, content: PackContent) -> list[str]:
    digest = sha256(read_bytes(folder / SUMS_FILE, follow=False))
    return [
        f"the evidence pack of askew {content.method} is intact: {len(content.images)} images, "
        f"{len(content.missing)} missing",
        f"plan {content.plan_hash}",
        f"SHA-256 of {SUMS_FILE}: {digest}",
    ]


def _image_faults(folder: Path, content: PackContent) -> Iterator[str]:
    """Yield a message for each image file that is missing or does not match its SHA-256."""
    for name, suffix in content.images.items():
        if not is_image_id(name) or suffix not in SUFFIXES.values():
            yield f"{EVIDENCE_FILE} names the image {name!r:.80}"
            continue
        file = folder / IMAGES / f"{name}{suffix}"
        try:
            if sha256(read_bytes(file, follow=False)) != name:
                yield f"{IMAGES}/{file.name} has changed: its SHA-256 differs"
        except OSError:
            yield f"{IMAGES}/{file.name} is gone"


def _result_faults(folder: Path, content: PackContent) -> Iterator[str]:
    """Yield a message for each inconsistency between the results, plan, images and labels."""
    head = findings.read(method_of(folder).findings, folder / RESULTS_FILE)
    plan_hash = read_bytes(folder / HASH_FILE, follow=False).decode("ascii", "replace").strip()
    if {head.plan_hash, head.plan.hash, plan_hash} != {content.plan_hash}:
        yield f"{RESULTS_FILE}, {PLAN_FILE} and {EVIDENCE_FILE} belong to different plans"
    named = {name for image_set in head.sets for name in image_set.pictures if name is not None}
    if named != {*content.images, *content.missing}:
        yield f"{EVIDENCE_FILE} does not list the images in {RESULTS_FILE}"
    if isinstance(head, AuditFindings):
        yield from _label_faults(folder, head)


def _label_faults(folder: Path, head: AuditFindings) -> Iterator[str]:
    """Yield a message for each count in the results that does not match the number of labels."""
    text = read_bytes(folder / LABELS_FILE, follow=False).decode()
    counts: Counter[tuple[str, ...]] = Counter()
    for row in csv.DictReader(io.StringIO(text)):
        counts[row["prompt"], row["set"], row["axis"], row["instrument"], row["label"]] += 1
    for entry in head.shares:
        place = (entry.prompt, entry.set, entry.axis, entry.instrument)
        for value, count in entry.counts.items():
            key = tuple(str(without_formula(text)) for text in (*place, value))
            if counts[key] != count:
                yield (
                    f"{LABELS_FILE} has {counts[key]} images labeled {value!r} where "
                    f"{RESULTS_FILE} has {count} ({entry.axis}, {entry.instrument})"
                )
