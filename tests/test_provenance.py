"""Where a result comes from."""

import shutil
import subprocess
import sys
from pathlib import Path

import kafnets
from kafnets.provenance import provenance


def test_the_commit_is_this_packages_own(tmp_path: Path) -> None:
    found = provenance()["commit"]
    assert found == "unknown" or len(found.split()[0]) == 40


def test_another_projects_commit_is_none_of_ours(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "theirs"], cwd=tmp_path, check=True)
    copied = tmp_path / "environment/provenance_copy.py"
    copied.parent.mkdir()
    shutil.copy(Path(kafnets.__file__).parent / "provenance.py", copied)
    program = "import provenance_copy; print(provenance_copy._commit())"
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=copied.parent, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "unknown"
