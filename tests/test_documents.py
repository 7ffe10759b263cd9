"""Documents say what the stored results say."""

import subprocess
import sys
from pathlib import Path


def test_speed_page_is_written_from_the_stored_result() -> None:
    script = Path(__file__).parents[1] / "scripts/write_speed_page.py"
    output = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert output.returncode == 0, output.stderr
