"""Audits of collections as they come from the field: signs, copies, damaged and unused files."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from image_collections import audit_collection, labeled_rows, noise_image, save_collection

SCALE = [-2, -2, -2, -1, -1, 1]


@pytest.mark.parametrize("alias", [["--alias=-1=female"], ["--alias", "-1=female"]])
def test_labels_of_one_and_minus_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], alias: list[str]
) -> None:
    rows = labeled_rows("Male", [1] * 4 + [-1] * 16)
    model = save_collection(tmp_path, rows)
    options = ["--label", "gender=Male", "--alias", "1=male", *alias]
    audited = audit_collection(tmp_path / "run", capsys, model, *options)
    assert audited.counts("gender") == {"male": 4, "female": 16}


def test_a_scale_from_minus_two_to_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_collection(tmp_path, labeled_rows("mood", SCALE * 5))
    audited = audit_collection(tmp_path / "run", capsys, model, "--label", "mood=mood")
    assert audited.counts("mood") == {"-2": 15, "-1": 10, "1": 5}


def test_ranges_are_shown_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_collection(tmp_path, labeled_rows("years", ["0-2", "3-9", "20-29"] * 3))
    audited = audit_collection(tmp_path / "run", capsys, model, "--label", "years=years")
    assert audited.counts("years") == {"0-2": 3, "3-9": 3, "20-29": 3}
    assert "3-9" in audited.text


def test_copies_of_an_image_are_one_observation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = labeled_rows("gender", ["female"] * 24)
    model = save_collection(tmp_path, rows)
    for row in rows:
        noise_image(7).save(tmp_path / str(row["file"]))
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert (
        "some images are identical and count once: 1 distinct of 24 images of 'p'" in audited.text
    )
    (entry,) = audited.results["shares"]
    assert entry["counts"] == {"male": 0, "female": 1}
    assert entry["missing"] == {}
    assert entry["verdict"]["q"] > 0.05
    (image_set,) = audited.results["sets"]
    assert (image_set["n"], image_set["copies"], len(image_set["pictures"])) == (1, 23, 1)


def test_copies_count_once_in_each_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = labeled_rows("gender", ["male"] * 24)
    for number, row in enumerate(rows):
        row["condition"] = "plain" if number < 12 else "asked"
    model = save_collection(tmp_path, rows)
    for number, row in enumerate(rows):
        noise_image(number % 4).save(tmp_path / str(row["file"]))
    options = ["--baseline-condition", "plain"]
    audited = audit_collection(tmp_path / "run", capsys, model, *options)
    assert [entry["counts"]["male"] for entry in audited.results["shares"]] == [4, 4]
    assert "4 distinct of 12 images of 'p', 4 distinct of 12 images of 'p, asked'" in audited.text


def test_rows_of_two_annotators_are_filtered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"file": f"{number}.png", "prompt": "p", "annotator": person, "gender": label}
        for number in range(12)
        for person, label in (("ann", "female"), ("bob", "male"))
    ]
    model = save_collection(tmp_path, rows)
    for person, label in (("ann", "female"), ("bob", "male")):
        options = ["--where", f"annotator={person}"]
        audited = audit_collection(tmp_path / person, capsys, model, *options)
        assert audited.counts("gender") == {label: 12}
    refused = audit_collection(tmp_path / "both", capsys, model)
    assert refused.code == 2
    assert "--where annotator=ann" in refused.text


def test_columns_of_two_raters_give_their_majority_and_kappa(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # ann and bob agree on 8 of 10 images: 5 female, 3 male
    rows = labeled_rows("ann", "FFFFFMMMFM")
    model = save_collection(
        tmp_path, [row | {"bob": label} for row, label in zip(rows, "FFFFFMMMMF", strict=True)]
    )
    for number, label in enumerate((["gender=ann,bob"], ["gender=ann", "--label", "gender=bob"])):
        run = tmp_path / f"run{number}"
        audited = audit_collection(run, capsys, model, "--label", *label)
        assert audited.counts("gender") == {"male": 3, "female": 5}
        (entry,) = audited.results["shares"]
        assert entry["missing"] == {"no_majority": 2}
        (agreement,) = audited.results["agreement"]
        assert agreement["coefficient"] == "kappa"
        # p_o = .8, p_e = .6 * .6 + .4 * .4
        assert agreement["agreement"]["value"] == pytest.approx((0.8 - 0.52) / 0.48)
        assert agreement["agreement"]["low"] < agreement["agreement"]["high"]
        assert agreement["no_majority"] == 2
        assert len(agreement["split"]) == 2
        assert agreement["votes"]["bob"] == {"female": 6, "male": 4}
        assert agreement["shares_of_votes"] == pytest.approx({"male": 0.4, "female": 0.6})
    assert "Cohen's κ" in " ".join(audited.text.split())


def test_three_raters_have_krippendorffs_alpha(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = labeled_rows("a", "FFFFFMMMFM")
    columns = [row | {"b": row["a"], "c": "F"} for row in rows]
    audited = audit_collection(
        tmp_path / "run", capsys, save_collection(tmp_path, columns), "--label", "gender=a,b,c"
    )
    assert audited.counts("gender") == {"male": 4, "female": 6}
    (agreement,) = audited.results["agreement"]
    # 4 of 10 images with one deviating label of 3: alpha = 1 - 29 * 4 * 2 / (2 * 8 * 22)
    assert agreement["coefficient"] == "alpha"
    assert agreement["agreement"]["value"] == pytest.approx(1 - 29 * 8 / (2 * 8 * 22))
    assert agreement["unanimous"] == 6


def test_metadata_of_image_folders_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for number, (job, gender) in enumerate([("nurse", "female"), ("ceo", "male")] * 6):
        noise_image(number).save(tmp_path / f"{number}.png")
        lines.append({"file_name": f"{number}.png", "prompt": job, "gender": gender})
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    audited = audit_collection(tmp_path / "run", capsys, f"folder/{tmp_path}")
    assert {entry["prompt"] for entry in audited.results["shares"]} == {"nurse", "ceo"}
    (tmp_path / "metadata.jsonl").rename(tmp_path / "captions.jsonl")
    refused = audit_collection(tmp_path / "other", capsys, f"folder/{tmp_path}")
    assert refused.code == 2
    assert "--manifest captions.jsonl" in refused.text


def test_an_index_of_pandas_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"": number} | row for number, row in enumerate(labeled_rows("gender", ["F"] * 6))]
    audited = audit_collection(tmp_path / "run", capsys, save_collection(tmp_path, rows))
    assert audited.counts("gender") == {"female": 6}


def test_paths_of_another_machine_are_matched_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = labeled_rows("gender", ["F"] * 6)
    model = save_collection(tmp_path, rows)
    text = (tmp_path / "manifest.csv").read_text().replace("\r\n", "\n")
    moved = "\n".join(f"/home/ann/{line}" for line in text.splitlines()[1:])
    (tmp_path / "manifest.csv").write_text(f"file,prompt,gender\n{moved}\n")
    refused = audit_collection(tmp_path / "run", capsys, model)
    assert (refused.code, "--match-names" in refused.text) == (2, True)
    audited = audit_collection(tmp_path / "run", capsys, model, "--match-names")
    assert audited.counts("gender") == {"female": 6}
    assert "6 files of the manifest were found" in audited.text


def test_files_that_are_not_used_are_named_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_collection(tmp_path, labeled_rows("gender", ["F"] * 6))
    noise_image(9).save(tmp_path / "9.gif")
    (tmp_path / "captions.csv").write_text("file,caption")
    audited = audit_collection(tmp_path / "run", capsys, model)
    for words in ("1 GIF (9.gif)", "captions.csv is not used"):
        assert words in audited.text
        assert words in html.unescape(audited.page)


def test_axes_without_labels_are_not_counted_as_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "file": f"{number}{condition}.png",
            "prompt": "p",
            "condition": condition,
            "gender": "" if condition == "b" else ["male", "female"][number % 2],
        }
        for number in range(8)
        for condition in "ab"
    ]
    model = save_collection(tmp_path, rows)
    audited = audit_collection(tmp_path / "run", capsys, model, "--baseline-condition", "a")
    assert "all 2 that were tested" not in audited.text
    tested = [entry for entry in audited.results["shares"] if entry["verdict"] is not None]
    assert len(tested) == 1


def test_sets_of_two_images_are_not_corrected_for_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No test of two images can be significant, so there is no correction to report."""
    rows = [
        {"file": f"{condition}{number}.png", "prompt": "p", "condition": condition}
        | {"gender": label, "smile": label == "female"}
        for condition, label in (("plain", "male"), ("asked", "female"))
        for number in range(2)
    ]
    labels = ["--label", "gender=gender", "--label", "smile=smile"]
    model = save_collection(tmp_path, rows)
    audited = audit_collection(
        tmp_path / "run", capsys, model, *labels, "--baseline-condition", "plain"
    )
    assert "n.s.: not significant" in audited.text
    assert "1 test" not in audited.text


def damage(folder: Path) -> dict[str, str]:
    """Replace the images 0 to 6 of a collection, and return a part of the reason of each."""
    (folder / "0.png").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\n")
    Image.new("1", (9000, 9000)).save(folder / "1.png")
    noise_image(1).save(folder / "2.png", "AVIF")
    (folder / "3.png").write_text("<!DOCTYPE html><title>Not found</title>")
    (folder / "4.png").write_bytes(b"")
    Image.new("RGB", (16, 16), "red").save(folder / "5.png")
    (folder / "6.png").unlink()
    return {
        "0.png": "run git lfs pull",
        "1.png": "set ASKEW_MAX_PIXELS=81000000",
        "2.png": "askew does not read AVIF; convert the file to PNG",
        "3.png": "a web page, not an image",
        "4.png": "the file is empty",
        "5.png": "the image shows a single color",
        "6.png": "file does not exist",
    }


def test_every_missing_image_is_named_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_collection(tmp_path, labeled_rows("gender", ["female"] * 12 + [""]))
    reasons = damage(tmp_path)
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert audited.code == 0
    (image_set,) = audited.results["sets"]
    sentences = {item["name"]: item["sentence"] for item in image_set["reasons"]}
    assert sentences.keys() == reasons.keys()
    printed = " ".join(audited.text.split()).lower()
    page = html.unescape(audited.page).lower()
    for name, reason in reasons.items():
        assert reason in sentences[name]
        assert reason.lower() in printed
        assert reason.lower() in page
        assert f"{name} (p – " in page
    (entry,) = audited.results["shares"]
    assert entry["reasons"] == [{"reason": "not_asked", "name": "12.png", "sentence": "no label"}]
    assert "not asked: no label: 12.png" in printed
    shown = " ".join(re.sub("<[^>]*>", " ", audited.page).split())
    missing = sum(entry["missing"].values())
    assert f"no label {missing} of {missing + sum(entry['counts'].values())}" in shown


def test_five_examples_of_a_reason_are_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_collection(tmp_path, labeled_rows("gender", ["female"] * 20))
    for number in range(8):
        (tmp_path / f"{number}.png").write_bytes(b"")
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert [item["name"] for item in audited.results["sets"][0]["reasons"]] == [
        f"{number}.png" for number in range(5)
    ]
    assert "5.png" not in audited.page


@pytest.mark.parametrize("content", [b"", b"not an image", b"GIF89a"])
def test_a_run_without_a_measurement_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    rows = labeled_rows("gender", ["male", "female"] * 6)
    model = save_collection(tmp_path, rows)
    for row in rows:
        (tmp_path / str(row["file"])).write_bytes(content)
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert audited.code == 1
    assert "nothing could be measured" in audited.text
    assert "0.png" in audited.text
    assert audited.results["sets"][0]["missing"] == {"corrupt_file": 12}


def test_a_run_without_a_label_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_collection(tmp_path, labeled_rows("gender", [""] * 12))
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert audited.code == 1
    assert "nothing could be measured" in audited.text
