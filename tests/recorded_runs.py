"""Small runs of all commands by the public interface, whose numbers are recorded in e2e/recorded.

A run is a function of the workplace and its folder that returns the file of its numbers. All runs
share one store. A run that needs the folder of another run asks the workplace for it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import askew
from askew.cli import run
from askew.method import Result

EXACT = 1e-9
NETWORKS = 1e-5
"""Largest change of a number, absolute or relative: exact computations, and networks."""

Make = Callable[["Workplace", Path], Path]


@dataclass(frozen=True)
class Recorded:
    """A run whose numbers are recorded.

    Attributes
    ----------
    make
        Function that makes the run in a folder and returns the file of its numbers.
    tolerance
        Largest change of a number.
    counted
        Command whose --dry-run is recorded, too; "" for none.
    options
        Function that returns the command's options; None for the plan of the run.
    is_slow
        True if only the slow tests make the run.
    """

    make: Make
    tolerance: float
    counted: str
    options: Callable[[Workplace], Sequence[str]] | None
    is_slow: bool


RUNS: dict[str, Recorded] = {}


def recorded(
    tolerance: float = EXACT,
    counted: str = "",
    options: Callable[[Workplace], Sequence[str]] | None = None,
    is_slow: bool = False,
) -> Callable[[Make], Make]:
    """Add a run under its function's name."""

    def add(make: Make) -> Make:
        RUNS[make.__name__] = Recorded(
            make=make, tolerance=tolerance, counted=counted, options=options, is_slow=is_slow
        )
        return make

    return add


@dataclass
class Workplace:
    """A folder with one store in which each run is made once.

    `shared` returns the folder of shared data, or skips the test.
    """

    root: Path
    shared: Callable[[], Path]
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.root / "store"

    def file(self, name: str) -> Path:
        """Return the file of a run's numbers, after making the run if necessary."""
        if name not in self.files:
            self.files[name] = RUNS[name].make(self, self.root / name)
        return self.files[name]

    def folder(self, name: str) -> Path:
        """Return the folder of a run."""
        return self.file(name).parent

    def work(self, name: str) -> dict[str, dict[str, list[int]]]:
        """Return the counts of a dry run with an empty store and with the run's store."""
        run = RUNS[name]
        given = (
            ["--plan", str(self.folder(name) / "plan.toml")]
            if run.options is None
            else run.options(self)
        )
        outputs = {
            kind: askew_command(
                run.counted,
                *given,
                "--run",
                str(self.root / f"dry-{name}"),
                "--store",
                str(store),
                "--dry-run",
            )
            for kind, store in (("empty", self.root / "no-store"), ("full", self.store))
        }
        return {kind: counts(text) for kind, text in outputs.items()}

    def drawings(self) -> Path:
        """Return a folder of labeled drawings of two occupations in two conditions, partly of
        groups.
        """
        folder = self.root / "drawings"
        if not folder.exists():
            _draw(folder)
        return folder


def askew_command(*arguments: str) -> str:
    """Run a command and return its output."""
    output = io.StringIO()
    with redirect_stdout(output):
        code = run(arguments)
    if code:
        raise RuntimeError(f"askew {' '.join(arguments)} ended with {code}")
    return output.getvalue()


def counts(text: str) -> dict[str, list[int]]:
    """Return the numbers of each line by the line's first word."""
    numbers = {}
    for line in text.splitlines():
        if line.strip():
            numbers[line.split()[0]] = [int(number) for number in re.findall(r"\d+", line)]
    return numbers


def in_file(result: Result[Any, Any]) -> Any:
    """Return the content of results.json."""
    return json.loads(result.numbers.read_text(encoding="utf-8"))


def _draw(folder: Path) -> None:
    """Draw images of the studio's model of known bias, and write labels as a person could give
    them.
    """
    result = askew.audit(
        ["a photo of a nurse", "a photo of a mechanic"],
        model="studio/planted",
        images=10,
        axes=["gender"],
        embedder="none",
        bootstrap_samples=100,
        run=folder / "run",
        store=folder / "store",
    )
    rows = []
    for entry in in_file(result)["sets"]:
        if entry["axis"] in (None, "gender") and entry["value"] in (None, "female"):
            for k, picture in enumerate(entry["pictures"]):
                rows.append(
                    (
                        picture,
                        entry["prompt"].split()[-1],
                        "asked" if entry["axis"] else "initial",
                        k,
                    )
                )
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["file", "prompt", "condition", "gender", "race"])
        for picture, prompt, condition, k in rows:
            writer.writerow(
                [
                    f"store/pictures/{picture[:2]}/{picture}.png",
                    prompt,
                    condition,
                    ("female", "male", "female", "both", "female")[(k + len(prompt)) % 5],
                    ("white", "black", "asian")[k % 3],
                ]
            )


LABELS: dict[str, Any] = {
    "model_args": {"label": "gender=gender,ethnicity=race", "baseline_condition": "initial"},
    "aliases": {"both": "missing:several_people"},
    "values": {"ethnicity": ("white", "black", "asian")},
    "embedder": "none",
    "bootstrap_samples": 100,
}
PLANTED: dict[str, Any] = {"model": "studio/planted", "bootstrap_samples": 100}


@recorded(counted="audit", is_slow=True)
def audit_planted(workplace: Workplace, run: Path) -> Path:
    prompts = ["a photo of a nurse", "a photo of a mechanic"]
    askew.audit(
        prompts,
        images=12,
        axes=["gender", "age", "ethnicity"],
        embedder="none",
        run=run,
        store=workplace.store,
        **PLANTED,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="audit", is_slow=True)
def audit_embedder(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        "a photo of a nurse",
        images=10,
        axes=["gender", "age"],
        run=run,
        store=workplace.store,
        **PLANTED,
    )
    return run / "results.json"


@recorded(NETWORKS, is_slow=True)
def audit_fair(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        "a photo of a nurse",
        images=10,
        axes=["gender", "age"],
        run=run,
        store=workplace.store,
        model_args={"bias": 0.0},
        **PLANTED,
    )
    return run / "results.json"


@recorded(NETWORKS, is_slow=True)
def audit_code(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        "a photo of a nurse",
        images=10,
        axes=["gender", "age"],
        variant="code",
        confidence=0.9,
        seed=3,
        run=run,
        store=workplace.store,
        **PLANTED,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="audit", is_slow=True)
def audit_studio(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        "a photo of a nurse",
        model="studio",
        images=5,
        axes=["gender"],
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
        model_args={"num_inference_steps": 3},
    )
    return run / "results.json"


@recorded(counted="audit", is_slow=True)
def audit_labels(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        model=f"folder/{workplace.drawings()}",
        vqa="labels",
        run=run,
        store=workplace.store,
        **LABELS,
    )
    return run / "results.json"


@recorded(counted="audit", is_slow=True)
def audit_two_instruments(workplace: Workplace, run: Path) -> Path:
    askew.audit(
        model=f"folder/{workplace.drawings()}",
        vqa=("labels", "studio"),
        run=run,
        store=workplace.store,
        **LABELS,
    )
    return run / "results.json"


@recorded(is_slow=True)
def audit_people(workplace: Workplace, run: Path) -> Path:
    people = workplace.shared() / "data" / "generated-people"
    askew.audit(
        model=f"folder/{people}",
        manifest=people / "labels.csv",
        vqa="labels",
        embedder="none",
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
        aliases={"both": "missing:several_people"},
        model_args={
            "prompt_column": "occupation",
            "baseline_condition": "baseline",
            "condition": "condition",
            "label": "gender=gender",
            "where": "model=sdxl_turbo",
        },
    )
    return run / "results.json"


CHEF = "a photo of a chef"
CROSSED: dict[str, Any] = {
    **PLANTED,
    "images": 12,
    "axes": ["gender", "age", "clothing"],
}


@recorded(counted="interact", is_slow=True)
def interact_validated(workplace: Workplace, run: Path) -> Path:
    askew.interact(
        CHEF,
        **CROSSED,
        mitigated="studio/planted",
        mitigated_args={"equal": "{axis}"},
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(counted="interact", is_slow=True)
def interact_fair(workplace: Workplace, run: Path) -> Path:
    askew.interact(CHEF, **CROSSED, model_args={"bias": 0.0}, run=run, store=workplace.store)
    return run / "results.json"


@recorded(is_slow=True)
def interact_uncorrected(workplace: Workplace, run: Path) -> Path:
    mitigated = [f"{axis}={workplace.folder('interact_fair')}" for axis in CROSSED["axes"]]
    askew.interact(
        CHEF,
        **CROSSED,
        no_error_correction=True,
        distance="nominal",
        alpha=0.99,
        confidence=0.9,
        mitigated=mitigated,
        reference="gender=male:0.3,female:0.7",
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(counted="interact", is_slow=True)
def interact_occupations(workplace: Workplace, run: Path) -> Path:
    askew.interact(
        occupations=["nurse", "mechanic", "chef"],
        images=8,
        axes=["gender", "age", "ethnicity"],
        reference="bls-2022",
        run=run,
        store=workplace.store,
        **PLANTED,
    )
    return run / "results.json"


@recorded(is_slow=True)
def interact_open(workplace: Workplace, run: Path) -> Path:
    askew.interact(
        CHEF,
        images=8,
        axes=["gender", "clothing"],
        open_answers=True,
        run=run,
        store=workplace.store,
        **PLANTED,
    )
    return run / "results.json"


@recorded(is_slow=True)
def sensitivity(workplace: Workplace, run: Path) -> Path:
    folder = str(workplace.folder("audit_planted"))
    return printed(
        run, "sensitivity", folder, "--store", str(workplace.store), "--repeats", "3", "--json"
    )


@recorded(is_slow=True)
def robustness(workplace: Workplace, run: Path) -> Path:
    return printed(
        run,
        "robustness",
        str(workplace.folder("interact_validated")),
        "--store",
        str(workplace.store),
        "--json",
    )


@recorded(is_slow=True)
def graphs(workplace: Workplace, run: Path) -> Path:
    run.mkdir()
    runs = [str(workplace.folder(name)) for name in ("interact_validated", "interact_fair")]
    return printed(
        run,
        "graphs",
        *runs,
        "--names",
        "biased,fair",
        "--output",
        str(run / "graphs.html"),
        "--store",
        str(workplace.store),
        "--json",
    )


def printed(folder: Path, *arguments: str) -> Path:
    """Write the JSON that a command prints to a file."""
    folder.mkdir(exist_ok=True)
    path = folder / "printed.json"
    path.write_text(askew_command(*arguments), encoding="utf-8")
    return path


MINED: dict[str, Any] = {
    "iterations": 1,
    "population": 4,
    "selected": 1,
    "images": 6,
    "variations": 6,
    "top": 3,
    "bootstrap_samples": 100,
    "topic": "people",
    "objective": "eq1",
}


@recorded(NETWORKS, counted="mine", is_slow=True)
def mine_bias(workplace: Workplace, run: Path) -> Path:
    askew.mine(**{**MINED, "iterations": 2}, vqa="studio", run=run, store=workplace.store)
    return run / "results.json"


@recorded(NETWORKS, is_slow=True)
def mine_fair(workplace: Workplace, run: Path) -> Path:
    askew.mine(
        **{**MINED, "iterations": 2},
        model_args={"bias": 0.0},
        seed=1,
        random_search=False,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="mine", is_slow=True)
def mine_skew(workplace: Workplace, run: Path) -> Path:
    askew.mine(
        topic="people",
        axes="gender,age",
        iterations=3,
        population=4,
        selected=1,
        images=4,
        eval_images=8,
        top=2,
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(counted="mine", is_slow=True)
def mine_color(workplace: Workplace, run: Path) -> Path:
    askew.mine(
        objective="color:lightskyblue",
        iterations=3,
        population=4,
        selected=1,
        mutations=2,
        images=2,
        top=2,
        bootstrap_samples=100,
        selection="learned",
        runs=2,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


def searches(workplace: Workplace) -> list[str]:
    return [str(workplace.folder(name)) for name in ("mine_bias", "mine_fair")]


@recorded(
    NETWORKS,
    counted="rank",
    options=lambda workplace: [
        "--mined",
        ",".join(searches(workplace)),
        "--bootstrap-samples",
        "100",
    ],
    is_slow=True,
)
def rank_mined(workplace: Workplace, run: Path) -> Path:
    askew.rank(mined=searches(workplace), bootstrap_samples=100, run=run, store=workplace.store)
    return run / "results.json"


@recorded(NETWORKS, counted="rank")
def rank_prompts(workplace: Workplace, run: Path) -> Path:
    prompts = ("a photo of a nurse", "a photo of a mechanic")
    askew.rank(*prompts, axes="gender,age", images=8, run=run, store=workplace.store, **PLANTED)
    return run / "results.json"


STEPS = {"num_inference_steps": 2}
MAPPED = [
    "--concept",
    "gender",
    "--concept",
    "race",
    "--images",
    "3",
    "--bootstrap-samples",
    "100",
    "-M",
    "num_inference_steps=2",
    "--profession",
    "nurse,chef",
    "--model",
    "studio,studio/balanced",
]


# "prompts" is omitted because it counts two prompts on two models as four
@recorded(NETWORKS, counted="map", options=lambda workplace: MAPPED, is_slow=True)
def map_models(workplace: Workplace, run: Path) -> Path:
    askew.map(
        model=["studio", "studio/balanced"],
        concept=["gender", "race"],
        professions=["nurse", "chef"],
        images=3,
        bootstrap_samples=100,
        model_args=STEPS,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


WORD: dict[str, Any] = {
    "concept": "photo",
    "against": "nurse",
    "threshold": "minmax",
    "tau": 50.0,
    "images": 3,
    "bootstrap_samples": 100,
    "model_args": STEPS,
}


@recorded(NETWORKS, is_slow=True)
def map_word(workplace: Workplace, run: Path) -> Path:
    askew.map("a photo of a nurse", **WORD, run=run, store=workplace.store)
    return run / "results.json"


@recorded(NETWORKS, is_slow=True)
def map_baseline(workplace: Workplace, run: Path) -> Path:
    askew.map(
        "a photo of a nurse",
        model="studio/balanced",
        **WORD,
        baseline_run=workplace.folder("map_word"),
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="edit", is_slow=True)
def edit_group(workplace: Workplace, run: Path) -> Path:
    askew.edit(
        "caucasian man",
        "studio",
        sources="studio/planted",
        images=2,
        axes=["gender"],
        edit_prompts={"high-paid": ["doctor", "CEO"], "low-paid": ["chef", "nurse"]},
        strengths=(0.5,),
        edit_args=STEPS,
        landmarks="studio",
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="edit", is_slow=True)
def edit_groups(workplace: Workplace, run: Path) -> Path:
    askew.edit(
        "caucasian man, african-american woman",
        "studio",
        sources="studio/planted",
        images=3,
        axes=["gender", "age"],
        edit_prompts={"high-paid": ["doctor", "CEO"], "low-paid": ["chef", "nurse"]},
        strengths=(0.5, 1.0),
        edit_args=STEPS,
        landmarks="studio",
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="classify", is_slow=True)
def classify_pairs(workplace: Workplace, run: Path) -> Path:
    askew.classify(
        "caucasian man, african-american woman",
        "studio",
        sources="studio/planted",
        images=2,
        samples=(1,),
        targets={"first": ["mechanic", "plumber"], "second": ["nurse", "secretary"]},
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, counted="classify", is_slow=True)
def classify_groups(workplace: Workplace, run: Path) -> Path:
    askew.classify(
        "caucasian man, african-american woman",
        "studio",
        sources="studio/planted",
        images=3,
        samples=(1, 4),
        targets={"first": ["mechanic", "plumber"], "second": ["nurse", "secretary"]},
        bootstrap_samples=100,
        run=run,
        store=workplace.store,
    )
    return run / "results.json"


@recorded(NETWORKS, is_slow=True)
def compare_audits(workplace: Workplace, run: Path) -> Path:
    names = ("audit_embedder", "audit_fair")
    askew.compare(
        *(workplace.folder(name) for name in names),
        names=["biased", "fair"],
        store=workplace.store,
        output=run,
    )
    return run / "comparison.json"
