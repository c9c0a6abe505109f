"""Reports of a run: the page, the terminal's table, the answer in a sentence."""

from askew.report.html import write_report
from askew.report.sentences import headline
from askew.report.table import terminal_table

__all__ = ["headline", "terminal_table", "write_report"]
