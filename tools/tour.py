"""Execute examples/tour.ipynb, and store the text outputs of its cells.

    python -m tools.tour

Reports are not stored, because they contain images: a notebook server shows them.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Execute a notebook.

    Parameters
    ----------
    path : Path
        The notebook.
    folder : Path
        Working folder of the kernel.

    Returns
    -------
    NotebookNode
        The notebook with the outputs of its cells.

    Raises
    ------
    CellExecutionError
        If a cell raises an error.
    """
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the text output of each code cell: its printed lines and its value as text.

    Parameters
    ----------
    notebook : NotebookNode
        An executed notebook.
    """
    return [
        "".join(map(_text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"
    ]


def _text(output: nbformat.NotebookNode) -> str:
    """Return printed lines, or a value as text. Progress on the error stream is left out."""
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else ""
    return str(output.get("data", {}).get("text/plain", ""))


def without_reports(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook with its text outputs alone.

    Parameters
    ----------
    notebook : NotebookNode
        An executed notebook. It is changed.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, text in zip(cells, texts(notebook), strict=True):
        cell.outputs = []
        cell.metadata = {}
        if text:
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main() -> None:
    """Execute the notebook and write it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        notebook = execute(TOUR, Path(folder))
    nbformat.write(without_reports(notebook), TOUR)


if __name__ == "__main__":
    main()
