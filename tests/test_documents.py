"""Documents say what the stored results say."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("write_*_page.py")))
def test_pages_are_written_from_stored_results(script: str) -> None:
    command = [sys.executable, str(SCRIPTS / script), "--check"]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
