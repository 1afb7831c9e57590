"""How many product files a prompt goes through on its way to a score."""

from tests.journey import journey

FILES_MAX = 80


def test_a_prompt_goes_through_few_files() -> None:
    """From the first request's arrival to the last answer, in every thread of the one process."""
    tracer, score = journey()
    assert score["window"] == "daily"
    seen = set(tracer.calls)
    assert {"svc_http/routes/capture.py", "svc/log/journal.py", "projections/derive/sessions.py"} <= seen
    assert "projections/scores/score.py" in seen
    assert len(seen) <= FILES_MAX, list(tracer.calls)
