"""Overlay images with attention maps and masks, for the page of `askew map`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from askew.measure.attention import decode_maps
from askew.methods.map.findings import ConceptPair, MapFindings
from askew.methods.map.maps import Maps, PairMaps, block_maps, constant_images, layers_of_pair
from askew.methods.map.plan import MapPlan
from askew.methods.map.sentences import model_label
from askew.pages import blocks as b
from askew.pages.media import Media
from askew.pages.words import number, quote, shorten
from askew.stats.overlap import iou, mask
from askew.types import Estimate

IMAGES_OF_SINGLE_PROMPT = 6
"""Number of images with overlays if the run has a single prompt.

If there are several prompts, each has one such image.
"""

LARGEST_NUMBER_OF_PROMPTS = 24
"""Maximum number of prompts with overlays."""

KEYS: tuple[tuple[b.Swatch, str], ...] = (
    ("heat", "attention, from the lowest to the highest in the image"),
    ("only-a", "only the concept"),
    ("only-b", "only the word of the prompt"),
    ("both", "both"),
)


def overlays(findings: MapFindings, media: Media, a: str) -> Iterator[b.Block]:
    """Yield blocks with the first images of each prompt and model, overlaid with a concept's maps.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that opens images and maps.
    a
        The concept.

    Yields
    ------
    Block
        A grid of images overlaid with the maps and masks of both words, and a collapsed grid of
        each prompt's first image overlaid with the masks from each block.
    """
    most = IMAGES_OF_SINGLE_PROMPT if len(findings.plan.prompts) == 1 else 1
    rows = []
    by_block = []
    for image_set in findings.sets[: LARGEST_NUMBER_OF_PROMPTS * len(findings.models)]:
        numbers = [k for k, name in enumerate(image_set.pictures) if name][:most]
        for k in numbers:
            image_id = str(image_set.pictures[k])
            model = str(image_set.model)
            maps = maps_of(findings, media, a, image_set.prompt, model, image_id)
            if maps is None or media.picture(image_id) is None:
                continue
            if constant_images(maps.total()).any():
                continue
            overlay = _Overlay(
                image=b.ImageReference(image_id=image_id, source=media),
                label=f"Image {k + 1} of {quote(image_set.prompt, 40)}, {model_label(model, 40)}",
                maps=maps,
                plan=findings.plan,
            )
            rows.append(overlay.row())
            if k == numbers[0]:
                by_block.append(overlay.blocks())
    yield b.PictureGrid(
        caption="Image, attention to both words, and masks",
        rows=tuple(rows),
        aligned=True,
        heads=("image", shorten(a, 20), "word of the prompt", "masks"),
        size="large",
        keys=KEYS,
    )
    grid = b.PictureGrid("Masks of both words in each block", tuple(by_block))
    yield b.Details("Masks by block", (grid,))


def typical_overlay(findings: MapFindings, media: Media, pair: ConceptPair) -> b.PictureGrid:
    """Return the image whose overlap is closest to the mean, without and with the masks.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that opens images and maps.
    pair
        Scores of a concept in the images of a prompt.

    Returns
    -------
    PictureGrid
        Two large images. Empty if no image has maps.
    """
    mean = pair.miou.value if isinstance(pair.miou, Estimate) else 0.0
    candidates = []
    for image_set in findings.sets:
        if (image_set.prompt, image_set.model) != (pair.prompt, pair.model):
            continue
        for position, image_id in enumerate(image_set.pictures, start=1):
            overlay = image_id and _overlay(findings, media, pair, position, image_id)
            if overlay:
                candidates.append(overlay)
    if not candidates:
        return b.PictureGrid("", ())
    typical = min(candidates, key=lambda overlay: abs(overlay.iou() - mean))
    return b.PictureGrid(
        caption=f"{typical.label}, whose overlap is closest to the mean",
        rows=(b.PictureRow(typical.large()),),
        size="overlay",
        keys=(
            ("only-a", f"only “{shorten(pair.a, 30)}”"),
            ("only-b", f"only “{shorten(typical.maps.b, 30)}”"),
            ("both", "both words"),
        ),
    )


def _overlay(
    findings: MapFindings, media: Media, pair: ConceptPair, position: int, image_id: str
) -> "_Overlay | None":
    """Return an image with its maps; None if it has no maps, or if a map is constant."""
    maps = maps_of(findings, media, pair.a, pair.prompt, pair.model, image_id)
    if maps is None or constant_images(maps.total()).any():
        return None
    if media.picture(image_id) is None:
        return None
    return _Overlay(
        image=b.ImageReference(image_id=image_id, source=media, large=True),
        label=f"Image {position} of {quote(pair.prompt, 40)}, {model_label(pair.model, 40)}",
        maps=maps,
        plan=findings.plan,
    )


def maps_of(
    findings: MapFindings, media: Media, a: str, prompt: str, model: str, image_id: str
) -> PairMaps | None:
    """Return an image's maps for a concept and for the prompt's word.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that opens stored maps.
    a
        The concept.
    prompt, model
        Prompt and model of the image.
    image_id
        Id of the image.

    Returns
    -------
    PairMaps or None
        The maps; None if the store contains no maps of the image.
    """
    files = {(file.model, file.prompt): file.fingerprint for file in findings.maps}
    row = media.rows(files.get((model, prompt), ""), [image_id]).get(image_id)
    if row is None:
        return None
    plan = findings.plan
    against = plan.against[[entry.text for entry in plan.prompts].index(prompt)]
    layers = layers_of_pair(decode_maps(row[None]), plan.concepts.index(a))
    return PairMaps(model=model, prompt=prompt, a=a, b=against, layers=layers, seeds=(None,))


@dataclass(frozen=True)
class _Overlay:
    """An image and the attention maps of two words."""

    image: b.ImageReference
    label: str
    maps: PairMaps
    plan: MapPlan

    def iou(self) -> float:
        """Return the IoU between the two masks."""
        first, second = mask(self.maps.total()[:, 0], self.plan.threshold, self.plan.tau)
        return float(iou(first, second))

    def large(self) -> tuple[b.Thumbnail, b.Thumbnail]:
        """Return two thumbnails: the image, and the image overlaid with its masks."""
        image = b.Thumbnail(self.image, self.label, "as generated")
        return image, self._masks(self.maps.total(), "masks of both words")

    def row(self) -> b.PictureRow:
        """Return a row that shows the image, its two maps, and its masks."""
        total = self.maps.total()
        first, second = (replace(self.image, overlay=b.HeatOverlay(heat)) for heat in total[:, 0])
        shots = (
            b.Thumbnail(self.image, self.label),
            b.Thumbnail(first, f"{self.label}: attention to {self.maps.a}"),
            b.Thumbnail(
                second, f"{self.label}: attention to {self.maps.b}", shorten(self.maps.b, 20)
            ),
            self._masks(total, "masks of both words"),
        )
        return b.PictureRow(shots, self.label)

    def blocks(self) -> b.PictureRow:
        """Return the masks by block."""
        shots = [
            self._masks(maps, name, f"{name}, ")
            for name, maps in block_maps(self.maps.layers).items()
            if not constant_images(maps).any()
        ]
        return b.PictureRow(tuple(shots), self.label)

    def _masks(self, maps: Maps, alt: str, name: str = "") -> b.Thumbnail:
        """Return the image overlaid with both masks; its caption states the IoU.

        The maps have the shape (2, 1, H, W).
        """
        first, second = mask(maps[:, 0], self.plan.threshold, self.plan.tau)
        image = replace(self.image, overlay=b.MaskOverlay(first=first, second=second))
        caption = f"{name}IoU {number(float(iou(first, second)))}"
        return b.Thumbnail(image, f"{self.label}: {alt}", caption)
