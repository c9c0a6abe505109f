"""Write the pictures of reports in README and docs: `python -m tools.screenshots` (needs Chromium).

Each command runs on the built-in models in a temporary folder. The first screen of its report is
photographed at 1280 x 800 pixels.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from askew.cli import run

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = (1280, 800)
COLORS = 192
"""Colors of a picture, so that it stays small."""

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


def main() -> int:
    """Make all pictures."""
    for name, command in REPORTS.items():
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "run"
            options = ["--run", str(target), "--store", str(Path(folder) / "store")]
            if run([*command, *options]):
                return 1
            photograph(target / "report.html", IMAGES / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
