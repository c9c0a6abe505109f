"""Write the pictures in README and docs: `python -m tools.screenshots` (needs Chromium).

Each command runs on the built-in models in a temporary folder. The first screen of its report is
photographed at 1280 x 800 pixels. `python -m tools.screenshots NAME…` writes only these pictures.
`python -m tools.screenshots --to FOLDER` writes pages of the app and of a study to a folder instead,
for three widths, light and dark, so that a person can look at all of them.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from askew.cli import run
from tools.app_pages import VISITS, Screen, photograph_app, sights

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = (1280, 800)
COLORS = 192
"""Colors of a picture, so that it stays small."""

QUALITY = 80
"""Quality of the WebP files, from 0 to 100."""

WINDOWS = ((390, 844), (1280, 800), (1920, 1080))
"""Width and height of a phone, a laptop and a large screen in pixels."""

REPORTS = {
    "report": ["audit", "a photo of a nurse", "--model", "studio/planted"],
}
"""Names of pictures, with the commands whose reports they show."""


def photograph(report: Path, picture: Path) -> None:
    """Write the first screen of a report as a PNG file.

    Parameters
    ----------
    report : Path
        The report.
    picture : Path
        The file to write.

    Raises
    ------
    SystemExit
        If Chromium is not installed.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is needed: install the package chromium")
    width, height = SIZE
    switches = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command = [
        chromium,
        *switches,
        f"--window-size={width},{height}",
        f"--screenshot={picture}",
        report.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(picture) as opened:
        small = opened.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def photograph_report(name: str, command: list[str]) -> None:
    """Run a command, and write the first screen of its report."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run"
        options = ["--run", str(target), "--store", str(Path(folder) / "store")]
        status = run([*command, *options])
        if status:
            raise SystemExit(status)
        photograph(target / "report.html", IMAGES / f"{name}.png")


def write_app_pictures(names: list[str]) -> None:
    """Write the named pictures of the app and of a study as WebP files."""
    with sights() as places:
        for name, content in photograph_app(places, Screen(*SIZE), names):
            with Image.open(io.BytesIO(content)) as opened:
                opened.convert("RGB").save(IMAGES / f"{name}.webp", quality=QUALITY, method=6)


def write_all_screens(folder: Path, names: list[str]) -> None:
    """Write the named pages of the app and of a study for all widths and color schemes."""
    folder.mkdir(parents=True, exist_ok=True)
    with sights() as places:
        for width, height in WINDOWS:
            for scheme in ("light", "dark"):
                screen = Screen(width, height, scheme, is_whole=True)
                for name, content in photograph_app(places, screen, names):
                    (folder / f"{name}-{width}-{scheme}.png").write_bytes(content)


def main() -> int:
    """Make the pictures that the arguments name."""
    parser = argparse.ArgumentParser(description="Write the pictures in README and docs.")
    known = [*REPORTS, *VISITS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--to", type=Path, help="write all pages, at all sizes, to this folder")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(known))
    if unknown:
        parser.error(f"there is no picture {unknown[0]}. Pictures: {', '.join(known)}")
    names = given.names or known
    pages = [name for name in names if name in VISITS]
    if given.to is not None:
        write_all_screens(given.to, pages)
        return 0
    for name in names:
        if name in REPORTS:
            photograph_report(name, REPORTS[name])
    if pages:
        write_app_pictures(pages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
