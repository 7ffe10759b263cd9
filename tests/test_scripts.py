"""What scripts share."""

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def test_measurements_are_added_to_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from measurements import changing, read

    path = tmp_path / "new/measured.json"
    assert read(path) == {}
    with changing(path) as found:
        found["a"] = {"γ": 1}
    with changing(path) as found:
        found["b"] = 2
    assert read(path) == {"a": {"γ": 1}, "b": 2}

    def interrupted() -> None:
        with changing(path) as found:
            found["c"] = 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "c" not in read(path)
