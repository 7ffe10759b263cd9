"""The examples run, and so does the code in the documents."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/zoo").glob("*.md"))


def run(*arguments: str) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert output.returncode == 0, output.stderr
    return output.stdout


def test_own_activation() -> None:
    printed = run(str(ROOT / "examples/own_activation.py"))
    assert re.findall(r"^\w+", printed, re.MULTILINE) == ["relu", "kaf", "sine", "snake"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_in_the_zoos_pages(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    run("-c", "\n".join(blocks))
