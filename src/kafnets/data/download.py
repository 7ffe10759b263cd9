"""Downloads that go on where they broke off, and are checked before they are used."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

from kafnets.files import make_folder

SETTING = "KAFNETS_DATA"
PIECE = 1 << 16
ATTEMPTS = 5
SECONDS_OF_SILENCE = 30


def download(address: str, to: Path, sha256: str | None) -> None:
    """Fetch a file; nothing unchecked is ever found under its name.

    What has come when a connection breaks is kept beside it, as ``.part``. The next attempt, now or another
    day, asks for the rest.

    Args:
        address: where it is to be had.
        to: its place.
        sha256: None where its publisher gives none.
    """
    import pooch

    make_folder(to.parent)
    known = None if sha256 is None else f"sha256:{sha256}"
    try:
        pooch.retrieve(address, known, fname=to.name, path=to.parent, downloader=_Resuming(to))
    except ValueError as error:  # the hash is wrong
        raise ValueError(f"the file from {address} is not the published one: {error}") from error
    except Exception as error:
        raise ConnectionError(
            f"could not download {address} ({error}). The part received so far is kept: try again later to "
            f"resume. Without a network connection, get the file in another way and put it at {to}, or set "
            f"{SETTING} to a folder that has it"
        ) from error


class _Resuming:
    """A downloader for pooch, which checks the hash of what it gives and moves it to its place."""

    def __init__(self, to: Path) -> None:
        self.part = to.with_name(to.name + ".part")

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        import requests

        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._fetch(url)
                break
            except (
                requests.ConnectionError,
                requests.Timeout,
                requests.exceptions.ChunkedEncodingError,
                _Incomplete,
            ):
                if attempt == ATTEMPTS:
                    raise
        # Right or wrong, it is whole: were it wrong, to go on from it would be no use.
        shutil.move(self.part, output_file)

    def _fetch(self, url: str) -> None:
        import requests

        have = self.part.stat().st_size if self.part.exists() else 0
        # Compressed in transit, bytes could not be counted.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=SECONDS_OF_SILENCE) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                if response.headers.get("Content-Range") == f"bytes */{have}":
                    return  # all of it had come
                self.part.unlink()  # longer than the file: not a part of it
                raise _Incomplete("begun anew")
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                have = 0  # a server that cannot go on sends all of it again
            length = response.headers.get("Content-Length")
            total = None if length is None else have + int(length)
            with self.part.open("ab" if have else "wb") as stream, _bar(self.part, have, total) as bar:
                for piece in response.iter_content(PIECE):
                    have += stream.write(piece)
                    bar.update(len(piece))
        if total is not None and have < total:
            raise _Incomplete(f"{have:,} of {total:,} bytes came")


class _Incomplete(Exception):  # noqa: N818
    pass


def _bar(part: Path, have: int, total: int | None) -> contextlib.AbstractContextManager[Any]:
    import tqdm

    bar: contextlib.AbstractContextManager[Any] = tqdm.tqdm(
        desc=part.stem, initial=have, total=total, unit="B", unit_scale=True
    )
    return bar
