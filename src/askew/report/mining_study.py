"""A study of the parts of a search: its page, and its tables for a terminal of 80 columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report import formatting
from askew.report.figures import PlotTable, Row
from askew.report.formatting import ABSENT, Record, measured, number, plural, probability
from askew.report.html import page_environment
from askew.report.mining_figures import Plane, axes, drawing, range_scale
from askew.report.mining_sentences import score
from askew.report.plots import scale_axis, signed_scale, track
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.score_strips import Strip, strip_table

ALPHA_COLUMNS = ("less chance", "score", "missed", "unaligned")
COLORS = 5
"""Curves that can be told apart."""


def write_mining_study(results: Record, path: Path) -> Path:
    """Writes the page to `path`. The same results give the same bytes."""
    environment = page_environment()
    style = "\n".join(environment.get_template(name).render() for name in ("report.css", "mining.css"))
    page = environment.get_template("mining_study.html.j2").render(
        results=results,
        headline=headline(results),
        alphas=alphas(results["ranking"]),
        sizes=sizes(results["sizes"]),
        differences=differences(results["sizes"]),
        curves=curves([(size_name(e), e["curve"]) for e in _populations(results["sizes"])]),
        populations=[size_name(e) for e in _populations(results["sizes"])],
        random=_against_random(results),
        style=Markup(style),
    )
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(formatting.clean(page), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def mining_study_table(results: Record) -> RenderableType:
    """The answer, the alphas with their correlations, and the sizes with their losses."""
    return Group(Text(headline(results), style="bold"), _alpha_table(results["ranking"]), _size_table(results["sizes"]))


def headline(results: Record) -> str:
    """The best alpha by what was planted, which sizes differ from the paper's, and whether mining beats random."""
    ranked = [row for row in results["ranking"]["quantiles"] if is_estimate(row["corrected"])]
    best = max(ranked, key=lambda row: row["corrected"]["value"], default=None)
    apart = [e for e in results["sizes"] if e["difference"] and exceeds_chance(e["difference"])]
    said = "none differs" if not apart else "one differs" if len(apart) == 1 else f"{len(apart)} differ"
    named = f": {formatting.listing([size_name(e) for e in apart])}" if apart else " by more than chance explains"
    ranking = (
        f"The score less chance ranks the occupations best by what was planted at alpha {best['quantile']:g}: "
        f"{measured(best['corrected'])} (Spearman)."
        if best
        else "The score less chance ranks no occupation before another."
    )
    return (
        f"{ranking} Of the other sizes of a search {said} from the paper's on fresh "
        f"seeds{named}. {random_sentence(results)}"
    )


def random_sentence(results: Record) -> str:
    """Whether the searches of the paper's size find lower losses than random prompts."""
    difference = (results["random"] or {}).get("difference") or {}
    if not is_estimate(difference) or difference.get("low") is None:
        return "Mining could not be compared with random search."
    size = measured(difference, score)
    if difference["low"] <= 0 <= difference["high"]:
        return f"Mining does not show to find other losses than random search: {size}."
    return f"Mining finds {'lower' if difference['value'] < 0 else 'higher'} losses than random search: {size}."


def size_name(entry: Record) -> str:
    """A size in words."""
    return f"{entry['population']}: {entry['selected']} × {entry['mutations']} + {entry['random']} random"


def alphas(ranking: Record) -> PlotTable:
    """How well the score less chance ranks what was planted, by alpha (figure S5)."""
    entries = ranking["quantiles"]
    scale = signed_scale([e["corrected"] for e in entries])
    rows = [
        Row(
            f"alpha {e['quantile']:g}",
            track(scale, e["corrected"], f"alpha {e['quantile']:g}", measured(e["corrected"])),
            (measured(e["corrected"]), measured(e["score"]), *_halves(e)),
        )
        for e in entries
    ]
    caption = f"Spearman's correlation with the planted skew of {plural(len(ranking['prompts']), 'occupation')}"
    legend = (("dot", "score less chance"), ("line", "interval"))
    return PlotTable(caption, "Alpha", scale_axis(scale), ALPHA_COLUMNS, tuple(rows), legend)


def sizes(entries: Sequence[Record]) -> PlotTable | None:
    """The mean loss of the best prompts on fresh seeds, a dot for each run (table S1)."""
    strips = [Strip(size_name(e), [v for v in e["by_run"] if v is not None], e["fresh"]) for e in entries]
    return strip_table(strips, "Loss of the best prompts on fresh seeds, by size of the search", "Size", "run")


def differences(entries: Sequence[Record]) -> PlotTable:
    """The same less that of the paper's size, paired by run."""
    others = [e for e in entries if e["difference"]]
    scale = signed_scale([e["difference"] for e in others])
    rows = [
        Row(
            size_name(e),
            track(scale, e["difference"], size_name(e), measured(e["difference"], score)),
            (measured(e["difference"], score), probability(e["difference"].get("q"))),
            strong=bool(exceeds_chance(e["difference"])),
        )
        for e in others
    ]
    legend = (("dot", "difference"), ("line", "interval over runs"))
    caption = "Less the paper's size, run by run. Left of 0: lower losses"
    return PlotTable(caption, "Size", scale_axis(scale), ("difference", "q"), tuple(rows), legend)


def curves(series: Sequence[tuple[str, Sequence[Record]]]) -> Markup | None:
    """The best loss so far, mean over runs with its standard error, one curve each (figures S3 and S4)."""
    shown = [(name, curve) for name, curve in series if curve][:COLORS]
    if not shown:
        return None
    values = [e["mean"] + sign * (e["error"] or 0) for _, curve in shown for e in curve for sign in (-1, 1)]
    plane = Plane(1 + max(e["iteration"] for _, curve in shown for e in curve), range_scale(values))
    parts = [axes(plane)]
    for k, (_, curve) in enumerate(shown, start=1):
        upper = [(plane.x(e["iteration"]), plane.y(e["mean"] + (e["error"] or 0))) for e in curve]
        lower = [(plane.x(e["iteration"]), plane.y(e["mean"] - (e["error"] or 0))) for e in curve]
        middle = [(plane.x(e["iteration"]), plane.y(e["mean"])) for e in curve]
        parts.append(Markup('<polygon class="band c{}" points="{}"/>').format(k, _points([*upper, *lower[::-1]])))
        parts.append(Markup('<polyline class="line c{}" points="{}"/>').format(k, _points(middle)))
    return drawing(parts, f"Best loss so far of {formatting.listing([name for name, _ in shown])}")


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _populations(entries: Sequence[Record]) -> list[Record]:
    """Sizes of one composition: as many mutations and as large a part of them random, the smallest first."""
    alike = [e for e in entries if (e["mutations"], e["random"]) == (2, e["selected"])]
    return sorted(alike, key=lambda e: int(e["population"]))


def _against_random(results: Record) -> Markup | None:
    paper = next(e for e in results["sizes"] if e["difference"] is None)
    return curves([("mined", paper["curve"]), ("random", results["random"]["curve"])]) if results["random"] else None


def _alpha_table(ranking: Record) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("alpha", *ALPHA_COLUMNS):
        table.add_column(header, justify="right", no_wrap=True)
    for e in ranking["quantiles"]:
        table.add_row(f"{e['quantile']:g}", measured(e["corrected"]), measured(e["score"]), *_halves(e))
    return table


def _halves(e: Record) -> tuple[str, str]:
    """The correlations of the halves of the score alone."""
    missed, unaligned = (number(e[name].get("value")) for name in ("missed_concepts", "least_aligned"))
    return missed, unaligned


def _size_table(entries: Sequence[Record]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("size", overflow="fold")
    for header in ("fresh seeds", "found", "less the paper's"):
        table.add_column(header, justify="right", no_wrap=True)
    for e in entries:
        less = measured(e["difference"], score) if e["difference"] else ABSENT
        table.add_row(size_name(e), measured(e["fresh"], score), number(e["found"].get("value"), 3), less)
    return table
