"""What Tandem tells the user: one finding a line, and every code with its meaning."""

from tandem.findings.code import Severity
from tandem.findings.finding import Finding, error, warning

__all__ = ["Finding", "Severity", "error", "warning"]
