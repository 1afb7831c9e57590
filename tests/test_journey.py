"""How many product files a prompt goes through on its way to a score."""

import subprocess
import sys

FILES_MAX = 71
"""More than the 60 that the house was drawn for: the rubric's model, the judge of one prompt (which the coach loads
alone), what is kept of a reading (which commands load alone), titles, arrivals, the floor, who gets in, the
conditions of shared writes, the lane of work on texts and the patterns of judges have files of their own."""


def test_a_prompt_goes_through_few_files() -> None:
    """In a process of its own: threads that other tests left behind cannot be traced."""
    command = [sys.executable, "-m", "tests.journey", "--max", str(FILES_MAX)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("routes/capture.py", "log/journal.py", "derive/sessions.py", "scores/score.py"):
        assert file in done.stdout
