"""Python blocks of README and documentation run when pasted one after the other."""

from pathlib import Path

import pytest
from blocks import blocks_of, run

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if blocks_of(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    assert len(run(blocks, tmp_path)) == len(blocks)


def test_blocks_are_left_out_for_a_reason_only() -> None:
    text = "```python\na\n```\n<!-- not run: needs a GPU -->\n```python\nb\n```\n\n```sh\nc\n```\n"
    assert blocks_of(text) == ["a\n"]


def test_a_block_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"block 2 fails:\n1 / x"):
        run(["x = 0\n", "1 / x\n"], tmp_path)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
