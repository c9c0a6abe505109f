"""The benchmark for GPUs runs with tiny networks on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import gpu


@pytest.mark.slow
def test_tiny_networks_on_a_cpu_fill_all_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu.main(["--tiny", "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "failed" not in printed
    for name in (*gpu.SETUPS, "1 images, 25 pairs", "BLIP-VQA base, 7 questions", "CLIP ViT-L/14"):
        assert f"| {name}" in printed


@pytest.mark.slow
def test_one_pipeline_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpu.main(["--tiny", "--only", "SD 1.5", "--folder", str(tmp_path)])
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("| SD 1.5")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == 10
    assert float(cells[6]) > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    gpu.main([])
    assert capsys.readouterr().out == (
        "no GPU: nothing was measured (--tiny tests the script on the CPU)\n"
    )
