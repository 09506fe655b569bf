"""Artifacts in an object store, reached through its URL."""

from __future__ import annotations

from collections.abc import AsyncIterator

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from toolcall_operator import errors

# The smallest part that every object store takes. A body within it is one plain request (into a folder 0.3 ms measured,
# 0.7 ms as a multipart upload); a longer one streams, with two parts at most in memory.
PART_BYTES = 5 * 1024 * 1024
PARTS_IN_FLIGHT = 2


class StoreArtifacts:
    """The store at `url`: `file:///folder`, made when it is missing, or any other URL that obstore opens.

    A reference is the store's URL, a slash and the key. Behind it stands a whole artifact or none: nothing half written
    ever shows.
    """

    def __init__(self, url: str) -> None:
        """Open the store.

        Raises:
            Unavailable: it cannot be opened, or no kind of store has such a URL.
        """
        self._base = url.rstrip("/")
        self._store = _opened(self._base)

    async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
        """Store `body` under `key`, and return the reference under which it can be had again.

        Raises:
            Unavailable: the store did not take it; what stood under `key` before still stands.
        """
        head, ended = await _head(body)
        try:
            if ended:
                await obstore.put_async(self._store, key, head)
            else:
                await obstore.put_async(
                    self._store,
                    key,
                    _chained(head, body),
                    use_multipart=True,
                    chunk_size=PART_BYTES,
                    max_concurrency=PARTS_IN_FLIGHT,
                )
        except (BaseError, OSError, ValueError) as error:
            raise errors.Unavailable(
                f"the artifact store did not take {errors.foreign(key)}: {_cause(error)}"
            ) from error
        return f"{self._base}/{key}"


def _opened(url: str) -> ObjectStore:
    try:
        return from_url(url, mkdir=True) if url.startswith("file:") else from_url(url)
    except (BaseError, OSError, ValueError) as error:
        raise errors.Unavailable(
            f"the artifact store {errors.foreign(url)} cannot be opened: {_cause(error)}"
        ) from error


async def _head(body: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """The first bytes of `body`, at least a part of them if there are so many, and whether that was all."""
    head = bytearray()
    async for chunk in body:
        head += chunk
        if len(head) >= PART_BYTES:
            return bytes(head), False
    return bytes(head), True


async def _chained(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in rest:
        yield chunk


def _cause(error: Exception) -> str:
    """The sentence of an error, without the dump of its source that obstore appends."""
    return errors.foreign(str(error).split("\n", 1)[0])
