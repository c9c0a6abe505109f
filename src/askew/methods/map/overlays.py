"""Images on the page of `askew map`, with attention maps and masks over them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from askew.measure.attention import decode_maps
from askew.methods.map.findings import MapFindings
from askew.methods.map.maps import Maps, PairMaps, block_maps, constant_images, layers_of_pair
from askew.methods.map.plan import MapPlan
from askew.methods.map.sentences import model_label
from askew.pages import blocks as b
from askew.pages.media import Media
from askew.pages.words import number, quote, shorten
from askew.stats.overlap import iou, mask

IMAGES_OF_SINGLE_PROMPT = 6
"""Number of images with overlays if the run has a single prompt. Others have one image each."""

LARGEST_NUMBER_OF_PROMPTS = 24
"""Number of prompts with overlays."""

KEYS: tuple[tuple[b.Swatch, str], ...] = (
    ("heat", "attention: lowest to highest in the image"),
    ("only-a", "only the concept"),
    ("only-b", "only the word of the prompt"),
    ("both", "both"),
)


def overlays(findings: MapFindings, media: Media, a: str) -> Iterator[b.Block]:
    """Yield the first images of each prompt and model with the maps of a concept.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        The run, which opens images and maps.
    a
        The concept.

    Yields
    ------
    Block
        Maps and masks of both words over the images, and masks by block over the first image.
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
    grid = b.PictureGrid("Masks of both words by block", tuple(by_block))
    yield b.Details("Masks by block", (grid,))


def maps_of(
    findings: MapFindings, media: Media, a: str, prompt: str, model: str, image_id: str
) -> PairMaps | None:
    """Return the maps of an image for a concept and the word of the prompt.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        The run, which opens stored maps.
    a
        The concept.
    prompt, model
        Prompt and model of the image.
    image_id
        Id of the image.

    Returns
    -------
    PairMaps or None
        None if the store has no maps of the image.
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
    """An image with the maps of two words."""

    image: b.ImageReference
    label: str
    maps: PairMaps
    plan: MapPlan

    def row(self) -> b.PictureRow:
        """Return the image, its maps, and its masks."""
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
        """Return the masks of maps (2, 1, H, W) over the image, with their overlap."""
        first, second = mask(maps[:, 0], self.plan.threshold, self.plan.tau)
        image = replace(self.image, overlay=b.MaskOverlay(first=first, second=second))
        caption = f"{name}IoU {number(float(iou(first, second)))}"
        return b.Thumbnail(image, f"{self.label}: {alt}", caption)
