"""Commands `askew study …`."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from askew.console import write
from askew.errors import UsageError
from askew.listening import check_packages
from askew.options import Flag, NamesOption, names
from askew.pages.words import plural
from askew.people.assignment import with_new_links
from askew.people.exchange import (
    COLUMNS,
    Columns,
    ExchangeFormat,
    export_study,
    import_answers,
)
from askew.people.extend import StudyExtension, extend_study
from askew.people.folder import StudyFolder
from askew.people.like import PAPER_STUDIES, TEMPLATES, PaperStudy, StudyTemplate
from askew.people.new import StudyDesign
from askew.people.new_choose import ChooseStudy, new_choose_study
from askew.people.new_label import LabelStudy, new_label_study
from askew.people.new_rate import RateStudy, new_rate_study
from askew.people.new_selections import SelectionStudy, new_selection_study
from askew.people.records import KINDS, ExclusionRules, SourcePaths, StudyKind
from askew.people.results import StudyResult
from askew.people.results import study_results as results_of
from askew.people.sources import open_sources
from askew.store.store import default_store

SMALLEST_PILOT = 10

NewStudy = LabelStudy | ChooseStudy | RateStudy | SelectionStudy

FromOption = Annotated[
    NamesOption,
    Parameter(name="--from", help="Folders of finished runs, separated by commas."),
]

SameRunsOption = Annotated[
    NamesOption,
    Parameter(
        name="--from",
        help="New folders of the study's runs, separated by commas, if the runs were moved.",
    ),
]

StudyArgument = Annotated[Path, Parameter(help="Folder of the study.")]


def study_new(
    kind: StudyKind | None = None,
    /,
    *,
    like: PaperStudy | None = None,
    from_: FromOption = None,
    output: Path,
    axes: NamesOption = None,
    precision: float | None = None,
    pilot: int | None = None,
    images: int | None = None,
    items: int | None = None,
    raters: int | None = None,
    raters_per_item: int | None = None,
    least_checks: float = 0.75,
    least_seconds: float = 0.8,
    title: str | None = None,
    contact: str | None = None,
    retention: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    store: Path | None = None,
) -> NewStudy:
    """Make a study with human raters from the images of finished runs.

    - label: people label single images on each axis.
    - choose: people choose which of two image sets shows less bias (MineTheGap).
    - rate: on a scale from 1 to 5, people rate how biased a prompt's images are on an axis (TIBET).
    - concepts: from a list of concepts, people choose the words that describe the images.
    - axes: from a list of axes, people choose the axes on which they expect a prompt's images to be
      biased.

    In a label study, askew groups the images by their labels from all instruments and draws a
    random sample from each group. More images are drawn from groups in which the instruments
    disagree. In a choose study, the two image sets are from two prompts in an audit, from the same
    prompt in two audits, or from a mined and a random prompt of `askew mine`. In a concepts study,
    the list contains concepts that the instrument named, and other words.

    With --pilot, a label study has two stages. The first stage shows how often the instruments are
    wrong, and `askew study extend` adds as many images as are still needed.

    study.toml contains the rules for excluding raters, which must be fixed before the first answer.

    Examples
    --------
    `askew study new label --from runs/nurse --output study --precision 0.05`

    `askew study new label --from runs/nurse --output study --precision 0.05 --pilot 50`

    `askew study new label --from runs/nurse --output study --axes gender --images 100`

    `askew study new choose --from runs/flux,runs/sdxl --output study --raters 30`

    `askew study new rate --from runs/prompts --output study --raters-per-item 10`

    `askew study new --like minethegap --from runs/mine --output study`

    `askew study new axes --from runs/prompts --output study --raters-per-item 5`

    Parameters
    ----------
    kind
        Kind of study.
    like
        Repeat a study from a paper: tibet-1 (axes), tibet-2 (rate, societal axes only), tibet-3
        (concepts), or minethegap (choose). The paper determines the kind of study, the number of
        questions, and the number of raters per question.
    output
        Folder for the study, which must be empty or not exist yet.
    axes
        Axes on which people label or rate images (kinds label and rate). [default: all axes of the
        run]
    precision
        Target half-width of the confidence intervals. The intervals are for the shares in the run's
        images (label), for a rank correlation (rate), or for the precision (concepts and axes).
        [default: 0.1 for label]
    pilot
        Number of images in the first stage of a label study for each label of the instrument, or
        for each combination of labels if there are several instruments. [default: a single stage]
    images
        Number of images to label per axis, instead of --precision.
    items
        Number of questions for all kinds except label. A question is a pair, an image grid, or a
        list. [default: 40 pairs; all grids and lists]
    raters
        Number of raters. [default: enough for about 100 questions per rater]
    raters_per_item
        Number of raters who answer each question. [default: 3, or the paper's number with --like]
    least_checks
        Minimum share of attention checks that a rater must pass. Raters who pass fewer checks are
        excluded.
    least_seconds
        Minimum median time per answer in seconds. Faster raters are excluded.
    title
        Title that raters see. [default: a title for the kind of study]
    contact
        Person or address to contact with questions. [default: the person who sent the link]
    retention
        Text that tells raters how long answers are kept. [default: until publication, at most 12
        months]
    confidence
        Confidence level of all intervals.
    seed
        Seed for drawing the sample and for the order of questions and options.
    store
        Store that contains the images of the runs. [default: .askew beside each run]

    Returns
    -------
    NewStudy
        The new study, as an instance of the class for its kind.

    Raises
    ------
    UsageError
        If a run is not a finished audit, or if an option is outside its range.
    """
    _check_range("--precision", precision, 0, 0.5)
    _check_range("--confidence", confidence, 0, 1)
    for option, count in (("--images", images), ("--items", items), ("--raters", raters)):
        if count is not None and count < 1:
            raise UsageError(f"{option} is {count}; it must be 1 or more")
    template = _template(kind, like)
    kind = template.kind
    if precision is None:
        items = items or template.items
    if raters_per_item is None:
        raters_per_item = template.raters_per_item
    if raters_per_item < 1:
        raise UsageError(f"--raters-per-item is {raters_per_item}; it must be 1 or more")
    _check_pilot(kind, pilot, images)
    _check_sizes(kind, precision, images, items)
    if not 0 <= least_checks <= 1:
        raise UsageError(f"--least-checks is {least_checks:g}; it must be from 0 to 1")
    design = StudyDesign(
        title=title,
        contact=contact,
        retention=retention,
        raters=raters,
        raters_per_item=raters_per_item,
        seed=seed,
        rules=ExclusionRules(least_checks=least_checks, least_seconds=least_seconds),
        confidence=confidence,
        precision=precision,
        pilot=pilot,
    )
    sources = open_sources([Path(run) for run in names(from_)], store)
    if kind == "choose":
        return new_choose_study(output, sources, design, pairs=items)
    if kind == "rate":
        return new_rate_study(
            output,
            sources,
            design,
            axes=names(axes),
            questions=items,
            societal_only=like is not None,
        )
    if kind in ("concepts", "axes"):
        return new_selection_study(output, sources, design, kind, items)
    return new_label_study(output, sources, design, axes=names(axes), images=images)


def _template(kind: StudyKind | None, like: PaperStudy | None) -> StudyTemplate:
    """Return the kind and size of a paper's study, or the default size for the given kind."""
    if like is None:
        if kind is None:
            raise UsageError(
                f"the kind of study is missing. Name a kind ({', '.join(KINDS)}), or a paper's study "
                f"with --like ({', '.join(PAPER_STUDIES)})"
            )
        return StudyTemplate(kind=kind, raters_per_item=3)
    template = TEMPLATES[like]
    if kind is not None and kind != template.kind:
        raise UsageError(
            f"--like {like} is a study of the kind {template.kind}, not {kind}. Leave out {kind}"
        )
    return template


def _check_sizes(
    kind: StudyKind, precision: float | None, images: int | None, items: int | None
) -> None:
    """Raise UsageError if options for the study's size conflict or do not apply to its kind."""
    if kind == "label" and items is not None:
        raise UsageError("--items does not apply to a label study. Use --images")
    if kind != "label" and images is not None:
        raise UsageError(f"--images applies only to label studies. Use --items for a {kind} study")
    if precision is not None and (images or items):
        option = "--images" if images else "--items"
        raise UsageError(
            f"--precision already determines the number of questions. Leave out {option}"
        )


def _check_pilot(kind: StudyKind, pilot: int | None, images: int | None) -> None:
    """Raise UsageError if the pilot is too small or does not apply to the study."""
    if pilot is None:
        return
    if kind != "label":
        raise UsageError(f"--pilot applies only to label studies. Leave it out for a {kind} study")
    if pilot < SMALLEST_PILOT:
        raise UsageError(f"--pilot is {pilot}; it must be {SMALLEST_PILOT} or more")
    if images is not None:
        raise UsageError(
            "--images fixes the number of images, so a pilot cannot change it. Use --precision with "
            "--pilot"
        )


def _check_range(option: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low < value < high:
        raise UsageError(f"{option} is {value:g}; it must be between {low:g} and {high:g}")


def study_extend(
    study: StudyArgument,
    /,
    *,
    from_: SameRunsOption = None,
    store: Path | None = None,
    dry_run: Flag = False,
) -> StudyExtension:
    """Add the second stage to a label study that was made with --pilot.

    From the raters' labels of the pilot, askew computes how many more images of each stratum are
    needed for the study's precision. The new images are assigned to the raters of the pilot who are
    not excluded. The links of these raters stay valid. The rules in study.toml do not change.

    Examples
    --------
    `askew study extend study --dry-run`

    `askew study extend study`

    Parameters
    ----------
    study
        Folder of the study. All raters must have answered its pilot.
    store
        Store that contains the images of the runs. [default: the store used when the study was
        made]
    dry_run
        Print the size of the second stage, and write nothing.

    Returns
    -------
    StudyExtension
        The second stage.

    Raises
    ------
    UsageError
        If the study has no pilot or already has a second stage, or if answers to the pilot are
        missing.
    """
    folder = StudyFolder.opened(study)
    paths = folder.source_paths()
    runs = tuple(names(from_))
    if runs:
        paths = SourcePaths(runs=runs, stores=tuple(str(default_store(Path(run))) for run in runs))
    if store is not None and paths is not None:
        paths = replace(paths, stores=(str(store),) * len(paths.runs))
    return extend_study(folder, paths, is_dry_run=dry_run)


def study_serve(
    study: StudyArgument,
    /,
    *,
    port: int = 8788,
    host: str = "127.0.0.1",
    url: str = "",
    certfile: Path | None = None,
    keyfile: Path | None = None,
    i_know_it_is_plain_http: Flag = False,
) -> None:
    """Serve a study to raters, who open it with secret links. Ctrl-C stops the server.

    When the server starts for the first time, it prints a secret link for each rater. Keep this
    list, because the study stores only hashes of the links. `askew study links` makes new links.
    The server provides access only to this study. Only this machine can reach the server, unless
    you open it to others with --host or a reverse proxy.

    Examples
    --------
    `askew study serve study`

    `askew study serve study --url https://study.example.org`

    Parameters
    ----------
    study
        Folder of the study.
    port
        Port of the server. Use 0 for any free port.
    host
        Network address of this machine on which the server listens. If other machines can reach the
        address, --certfile is required, or --i-know-it-is-plain-http in a private network.
    url
        Address that raters open. A reverse proxy with TLS at this address forwards the raters'
        requests to this server.
    certfile
        TLS certificate file. With a certificate, this server encrypts connections itself.
    keyfile
        Private key file of the certificate.
    i_know_it_is_plain_http
        Accept unencrypted connections in a private network.

    Raises
    ------
    UsageError
        If the folder has no study, the address is not safe, or the port cannot be used.
    MissingPackage
        If the `web` extra is not installed.
    """
    check_packages("askew study serve")
    from askew.people.rating.server import Address, StudyServer

    folder = StudyFolder.opened(study)
    address = Address(
        host=host,
        port=port,
        url=url,
        certificate=certfile,
        key=keyfile,
        is_plain_allowed=i_know_it_is_plain_http,
    )
    server = StudyServer(folder, address)
    without_link = [rater.id for rater in folder.raters() if not rater.token]
    if without_link:
        write(
            "Send a link to each rater, or open a link to label images yourself. askew shows the links "
            "only once:\n"
        )
        _write_links(folder, without_link, server.link)
    write(f"serving {study} at {server.url}. Press Ctrl-C to stop\n")
    sys.stdout.flush()
    server.run()


def study_links(
    study: StudyArgument, /, *, rater: NamesOption = None, url: str = "http://127.0.0.1:8788"
) -> None:
    """Make and print new links for raters. The old links of these raters stop working.

    Examples
    --------
    `askew study links study --url https://study.example.org`

    `askew study links study --rater r002`

    Parameters
    ----------
    study
        Folder of the study.
    rater
        Ids of raters, separated by commas. [default: all raters without a link]
    url
        Address at which raters reach the server.

    Raises
    ------
    UsageError
        If the folder has no study, or a rater does not exist.
    """
    folder = StudyFolder.opened(study)
    raters = folder.raters()
    known = [each.id for each in raters]
    chosen = names(rater)
    for name in chosen:
        if name not in known:
            raise UsageError(f"the study has no rater {name}. Raters are: {', '.join(known)}")
    chosen = chosen or [each.id for each in raters if not each.token]
    if not chosen:
        raise UsageError("all raters have a link. Use --rater to name raters who need a new link")
    _write_links(folder, chosen, lambda token: f"{url.rstrip('/')}/s/{token}")


def _write_links(folder: StudyFolder, chosen: Iterable[str], link: Callable[[str], str]) -> None:
    """Create new links for the chosen raters, and print a line with each link."""
    with folder.locked():
        raters, tokens = with_new_links(folder.raters(), list(chosen))
        folder.write_raters([*raters, *folder.withdrawn_lines()])
    for rater, token in tokens.items():
        write(f"{rater},{link(token)}\n")


def study_results(study: StudyArgument, /, *, json: Flag = False) -> StudyResult:
    """Compute a study's results: agreement between raters, labeling errors, and corrected shares.

    askew excludes raters according to the rules in study.toml, and reports the results both with
    and without the excluded raters.

    Examples
    --------
    `askew study results study`

    Parameters
    ----------
    study
        Folder of the study.
    json
        Print results.json instead of the tables.

    Returns
    -------
    StudyResult
        The results, which are also written to results.json and report.html in the study's folder.

    Raises
    ------
    UsageError
        If the folder has no study, or no rater has answered.
    """
    return results_of(StudyFolder.opened(study)).write()


def study_export(study: StudyArgument, /, *, format: ExchangeFormat = "csv", output: Path) -> str:
    """Export a study's questions or answers for use in other programs.

    With the format label-studio, the export is a folder with tasks, annotations and the labeling
    interface. With csv or jsonl, the export contains all answers. With mturk or prolific, the
    export is a file with the questions, as input for a batch.

    Examples
    --------
    `askew study export study --format label-studio --output tasks`

    `askew study export study --format csv --output answers.csv`

    Parameters
    ----------
    study
        Folder of the study.
    format
        Format of the output.
    output
        Path of the file to write, or of the folder for label-studio.

    Returns
    -------
    str
        Paths of the written files, one per line.

    Raises
    ------
    UsageError
        If the folder has no study.
    """
    files = export_study(StudyFolder.opened(study), format, output)
    return "\n".join(map(str, files))


def study_import(
    study: StudyArgument,
    file: Path,
    /,
    *,
    format: ExchangeFormat = "csv",
    rater_column: str | None = None,
    item_column: str | None = None,
    answer_column: str | None = None,
) -> str:
    """Add answers from Label Studio, MTurk, Prolific, CSV or JSON Lines to a study.

    New raters get ids that do not reveal who they are. Rejected assignments are not imported.

    Examples
    --------
    `askew study import study tasks/tasks.json --format label-studio`

    `askew study import study Batch_1.csv --format mturk`

    `askew study import study answers.csv --rater-column "Participant id"`

    Parameters
    ----------
    study
        Folder of the study.
    file
        The file with the answers.
    format
        Format of the file.
    rater_column
        Name of the column with rater ids. [default: rater; WorkerId with mturk, PROLIFIC_PID with
        prolific]
    item_column
        Name of the column with item ids. [default: item; Input.item with mturk]
    answer_column
        Name of the column with answers. [default: answer; Answer.answer with mturk]

    Returns
    -------
    str
        Sentence that states the numbers of imported answers and raters.

    Raises
    ------
    UsageError
        If the file cannot be read, or contains unknown items or answers.
    """
    usual = COLUMNS.get(format, Columns())
    columns = Columns(
        rater=rater_column or usual.rater,
        item=item_column or usual.item,
        answer=answer_column or usual.answer,
        seconds=usual.seconds,
    )
    answers = import_answers(StudyFolder.opened(study), format, file, columns)
    raters = len({answer.rater for answer in answers})
    return f"imported {plural(len(answers), 'answer')} from {plural(raters, 'rater')} into {study}"
