"""Request and make edits, restored images and resized images."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Generic, TypeVar

from PIL import Image, ImageOps

from askew.methods.edit.cells import EditedGroup
from askew.methods.edit.plan import EditPlan
from askew.models.base import Editor, EditRequest, Restorer, Setting, is_called, is_seeded
from askew.parts.sources.groups import Outcomes
from askew.prompts.given import prompt_of
from askew.run.base import MakerOutput, Outcome, Run, encoded, provider, report_of
from askew.store.imagefile import opened
from askew.store.keys import picture_key, picture_seed
from askew.store.requests import PictureRequest
from askew.types import Missing, Picture

R = TypeVar("R", bound=PictureRequest)
K = TypeVar("K", bound=Hashable)

RESIZER = "cropped and resized"
"""Name of the `Maker` that crops and resizes images.

The name is part of the keys under which resized images are stored.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPictureRequest(PictureRequest):
    """Request for an image that is made from another image.

    Attributes
    ----------
    of : Picture
        The input image.
    strength : float
        Strength of the edit, in (0, 1]. 0 if the image is not an edit.
    """

    of: Picture
    strength: float = 0.0


@dataclass(frozen=True)
class FunctionMaker(Generic[R]):
    """Maker that generates images by calling a function.

    The maker can be pickled and sent to another process.

    Attributes
    ----------
    name : str
        Name of the maker.
    batch_size : int
        Maximum number of requests per call.
    make : callable
        Function that returns one output per request.
    seeded : bool
        True if identical requests always produce the same image.
    concurrency : int
        Maximum number of simultaneous calls.
    is_called : bool
        True if a server generates the images.
    """

    name: str
    batch_size: int
    make: Callable[[Sequence[R]], list[MakerOutput]]
    seeded: bool = True
    concurrency: int = 1
    is_called: bool = False
    sees = frozenset[str]()


def resized_sources(run: Run, sources: Outcomes, side: int) -> dict[str, tuple[Outcome, ...]]:
    """Crop images to a square around their center and resize them.

    Parameters
    ----------
    run : Run
        Run that stores the images.
    sources : mapping of str to sequence of Outcome
        Input images, keyed by group.
    side : int
        Width and height in pixels.

    Returns
    -------
    mapping of str to tuple of Outcome
        Resized images, keyed by group.
    """

    def request(_: str, number: int, source: Picture) -> EditPictureRequest:
        settings: dict[str, Setting] = {"side": side, "of": source.id}
        return EditPictureRequest(
            key=picture_key(RESIZER, "1", settings, source.prompt, 0),
            prompt=source.prompt,
            seed=0,
            model=f"{RESIZER} {side} {source.id}",
            of=source,
        )

    maker = FunctionMaker(name=RESIZER, batch_size=16, make=partial(resized, side))
    return _made(run, maker, sources, request)


def edited_groups(
    plan: EditPlan, run: Run, editor: Editor, sources: Outcomes
) -> tuple[EditedGroup, ...]:
    """Encode and decode all input images, and generate all edits, in a fixed order.

    Identical input images are edited separately and with different noise.

    Parameters
    ----------
    plan : EditPlan
        Words and strengths of the edits.
    run : Run
        Run that generates the images.
    editor : Editor
        Model that edits.
    sources : mapping of str to sequence of Outcome
        Input images, keyed by group.

    Returns
    -------
    tuple of EditedGroup
        The groups in the order of `sources`.
    """
    restored_by_group = _restored(run, editor, sources)
    places = [
        (name, word, strength)
        for strength in plan.strengths
        for word, name in product(plan.words, sources)
    ]

    def request(place: tuple[str, str, float], number: int, source: Picture) -> EditPictureRequest:
        _, word, strength = place
        return wanted_edit(editor, source, number, word, strength, plan.seed)

    maker = FunctionMaker(
        name=editor.name,
        batch_size=editor.batch_size,
        make=partial(edited, editor),
        seeded=is_seeded(editor),
        concurrency=int(getattr(editor, "concurrency", 1)),
        is_called=is_called(editor),
    )
    edits = _made(run, maker, {place: sources[place[0]] for place in places}, request)
    cells = list(product(plan.words, plan.strengths))
    groups = []
    for name, outcomes in sources.items():
        group = EditedGroup(
            name=name,
            sources=tuple(outcomes),
            restored=restored_by_group[name],
            edits={cell: edits[name, *cell] for cell in cells},
        )
        groups.append(group)
    return tuple(groups)


def _restored(run: Run, editor: Editor, sources: Outcomes) -> dict[str, tuple[Outcome, ...]]:
    """Encode and decode all input images without editing them, if the editor has an autoencoder."""
    if not isinstance(editor, Restorer):
        return dict.fromkeys(sources, ())
    settings = {name: value for name, value in editor.settings.items() if name == "variant"}

    def request(_: str, number: int, source: Picture) -> EditPictureRequest:
        of_source = {"encode_decode_of": source.id, **settings}
        return EditPictureRequest(
            key=picture_key(editor.name, editor.revision, of_source, "", 0),
            prompt="",
            seed=0,
            model=f"{editor.name} restoring {source.id}",
            of=source,
        )

    maker = FunctionMaker(
        name=editor.name, batch_size=editor.batch_size, make=partial(restored, editor)
    )
    return _made(run, maker, sources, request)


def wanted_edit(
    editor: Editor, source: Picture, number: int, word: str, strength: float, seed: int
) -> EditPictureRequest:
    """Return the request for an edit.

    Images with the same number have the same seed in all groups and at all strengths, and so form
    pairs.

    Parameters
    ----------
    editor : Editor
        Model that edits.
    source : Picture
        The input image.
    number : int
        Number of the input image within its group, counted from 0.
    word : str
        Word to edit toward.
    strength : float
        Strength of the edit, in (0, 1].
    seed : int
        Seed of the run.
    """
    prompt = prompt_of(word)
    edit_seed = picture_seed(seed, prompt, number)
    settings = {**editor.settings, "edit_of": source.id, "strength": strength}
    return EditPictureRequest(
        key=picture_key(editor.name, editor.revision, settings, prompt, edit_seed),
        prompt=prompt,
        seed=edit_seed,
        model=f"{editor.name} editing {source.id} at {strength:g}",
        of=source,
        strength=strength,
    )


def _made(
    run: Run,
    maker: FunctionMaker[R],
    rows: Mapping[K, Sequence[Outcome]],
    request: Callable[[K, int, Picture], R],
) -> dict[K, tuple[Outcome, ...]]:
    """Make a new image from each image in each row.

    Images with the same key are generated only once.
    """
    requests: dict[K, list[R | Missing]] = {}
    for place, row in rows.items():
        requests[place] = [
            outcome if isinstance(outcome, Missing) else request(place, number, outcome)
            for number, outcome in enumerate(row)
        ]
    all_requests = [wanted for row in requests.values() for wanted in row]
    by_key = {wanted.key: wanted for wanted in all_requests if not isinstance(wanted, Missing)}
    images = run.make(maker, list(by_key.values()))
    outcomes = {}
    for place, wanted_row in requests.items():
        outcomes[place] = tuple(_image(wanted, images) for wanted in wanted_row)
    return outcomes


def _image(wanted: PictureRequest | Missing, images: Mapping[str, Outcome]) -> Outcome:
    return wanted if isinstance(wanted, Missing) else images[wanted.key]


def resized(side: int, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Crop and resize the requested input images to squares with sides of `side` pixels."""
    outputs = []
    for request in wanted:
        image = opened(request.of.path)
        square = ImageOps.fit(image, (side, side), Image.Resampling.LANCZOS)
        outputs.append(MakerOutput(encoded(square)))
    return outputs


def restored(editor: Restorer, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Encode and decode the requested input images with the autoencoder of a model."""
    with provider(editor.name, "encoding and decoding images"):
        images = editor.encode_decode([opened(request.of.path) for request in wanted])
        return [MakerOutput(encoded(image)) for image in images]


def edited(editor: Editor, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Edit the requested input images with a model."""
    with provider(editor.name, f"editing toward {wanted[0].prompt!r}"):
        requests = [
            EditRequest(
                picture=opened(request.of.path),
                prompt=request.prompt,
                strength=request.strength,
                seed=request.seed or 0,
            )
            for request in wanted
        ]
        images = editor.edit(requests)
        return [MakerOutput(encoded(image), report=report_of(image)) for image in images]
