"""The official client libraries, which are an optional extra."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from contextlib import closing
from typing import Any, ClassVar

from agent_steel.models.providers.api import (
    CHECK_S,
    Ending,
    Heard,
    ModelAnswer,
    Question,
    Received,
    RequestLimits,
    translate_errors,
)
from agent_steel.models.providers.presets import Preset, Structured, key_of, without_key
from agent_steel.proposal import ProposerError


def library_of(name: str) -> Any:
    """Return the module `name`; raises ProposerError that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    raise ProposerError(
        f"[{name}] the client library `{name}` is not installed; "
        "`pip install 'metalbench[agent]'` brings it"
    )


# Shared by the adapters of all protocols: make a client, and read its stream.


class Adapter(ABC):
    """Send streamed requests by one protocol. The caller retries.

    `library` is the client library's module, and `client` its class.
    """

    library: ClassVar[str]
    client: ClassVar[str]

    def __init__(
        self,
        preset: Preset,
        base_url: str,
        model: str,
        structured: Structured,
        limits: RequestLimits,
    ) -> None:
        self._preset = preset
        self._model = model
        self._structured = structured
        self._limits = limits
        self._library = library_of(self.library)
        self._client: Any = getattr(self._library, self.client)(
            api_key=key_of(preset),
            base_url=base_url,
            max_retries=0,
            timeout=limits.timeout(self._library),
            http_client=_without_idle_connections(self._library),
        )

    def ask(self, question: Question, heard: Heard) -> ModelAnswer:
        """Ask once; raises Failed."""
        received = Received(question, heard)
        return translate_errors(
            self._library,
            received,
            lambda text: without_key(text, self._preset),
            lambda: self._stream(received),
        )

    def check(self) -> None:
        """Ask for the list of models, which costs nothing: it tells a server that is not there.

        Where everybody may read the list, ask for the facts of the key. Raise Failed.
        """
        received = Received(Question("", (), "", {}, 1), lambda _: None)
        wait_s = min(CHECK_S, self._limits.silence_s)

        def list_models() -> ModelAnswer:
            client = self._client.with_options(timeout=wait_s)
            if self._preset.key_path:
                client.get(self._preset.key_path, cast_to=object)
            else:
                client.models.list()
            return ModelAnswer("", Ending.WHOLE, 0, 0)

        translate_errors(
            self._library, received, lambda text: without_key(text, self._preset), list_models
        )

    def _stream(self, received: Received) -> ModelAnswer:
        with closing(self._open(received.question)) as stream:
            for event in self._limits.within(stream):
                received.begun = True
                self._take(event, received)
                if received.is_too_long:
                    # The server does not keep to the limit of the request.
                    received.ending = Ending.CUT
                    break
        return received.answer()

    @abstractmethod
    def _open(self, question: Question) -> Any:
        """Return the stream of the answer to a question."""

    @abstractmethod
    def _take(self, event: Any, received: Received) -> None:
        """Take in what the stream has brought."""


def _without_idle_connections(library: Any) -> Any:
    """Return the library's own HTTP client, which ends each connection with its answer.

    Minutes pass between two requests: a connection that was kept for the next one may be dead by
    then, and would have to be closed by somebody.
    """
    import httpx2

    return library.DefaultHttpxClient(limits=httpx2.Limits(max_keepalive_connections=0))
