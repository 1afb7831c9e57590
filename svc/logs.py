"""Structured logs on standard error: one JSON object a line, or readable lines on a terminal."""

import logging
import sys

import structlog


def set_up_logs(level: str) -> None:
    """Log from this level up. No key, no prompt and no other text of a person is ever logged."""
    number = logging.getLevelNamesMapping()[level.upper()]
    rendered = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
