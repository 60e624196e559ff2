"""Targets of speed and memory, and whether they are reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.report import Report, Row
from bench.timing import Times


def target_row(what: str, target: str, measured: str, reached: bool) -> Row:
    return what, target, measured, "pass" if reached else "**fail**"


def speed_up_rows(where: str, times: Mapping[str, Times], ours: str, targets: Mapping[str, float]) -> Iterable[Row]:
    """A row for each rival that was measured: how many times as fast `ours` is."""
    for rival, target in targets.items():
        if ours in times and rival in times:
            ratio = times[rival].best / times[ours].best
            yield target_row(f"{where}: {ours} against {rival}", f"≥ {target} x", f"{ratio:.1f} x", ratio >= target)


def report_targets(report: Report, rows: list[Row]) -> None:
    if rows:
        report.table(("target", "aim", "measured", ""), rows)
