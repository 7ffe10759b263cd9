"""Where a result comes from: commit, versions, hardware."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kafnets.ops import backend


def provenance(*packages: str) -> dict[str, Any]:
    """What has to stand beside every number; versions of ``packages`` with it."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "versions": {
            "kafnets": version("kafnets"),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            **{name: version(name) for name in packages},
        },
        "hardware": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "backend": str(backend()),
        },
    }


def _commit() -> str:
    """The checkout's commit, with a mark if files differ from it; "unknown" outside a checkout."""
    try:
        # Installed into somebody's environment, the package may lie in another project's repository.
        _git("ls-files", "--error-unmatch", Path(__file__).name)
        commit, changes = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + (" with uncommitted changes" if changes else "")


def _git(*arguments: str) -> str:
    """What git says in this folder."""
    folder = Path(__file__).parent
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
