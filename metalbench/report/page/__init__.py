"""A stand-alone HTML page of records or of a run, with plots, sources and history."""

from metalbench.report.page.document import to_html
from metalbench.report.page.of_records import page_of_records
from metalbench.report.page.of_results import page_of_results

__all__ = ["page_of_records", "page_of_results", "to_html"]
