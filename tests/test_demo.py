"""What ``make demo`` says about a comparison."""

import json
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[1] / "scripts" / "demo.py"


def test_the_demo_reads_what_a_comparison_stores(tmp_path: Path) -> None:
    """With a short comparison in place of its own."""
    short = DEMO.read_text(encoding="utf-8").replace('"epochs": 25, "seeds": 8', '"epochs": 1, "seeds": 1')
    program = tmp_path / "demo.py"
    untimed = "from kafnets.comparison import plan; plan.SECONDS_OF_TIMING = 0.01"
    program.write_text(f"{untimed}\n{short}", encoding="utf-8")
    output = tmp_path / "output"
    command = [sys.executable, str(program), str(output)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    *table, empty, sentence, page = shown.stdout.splitlines()
    assert table[0].strip().startswith("sensorless sample")
    assert [each for each in ("kaf", "relu", "prelu") if each in table[-2].split() + table[-1].split()]
    assert not empty
    assert "the network with KAF assigns" in sentence
    assert page == f"Open {(output / 'report.html').resolve()} in a browser to explore the runs."
    assert (output / "report.html").exists()
    (ranking,) = output.glob("compare/*/ranking.json")
    assert len(json.loads(ranking.read_text(encoding="utf-8"))["rows"]) == 3
