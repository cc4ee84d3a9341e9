"""Messages: the protocol of Anthropic."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from agent_steel.models.providers.api import Answer, Ending, Heard, Question
from agent_steel.models.providers.keys import key_of, without_key
from agent_steel.models.providers.library import library_of
from agent_steel.models.providers.limits import Limits
from agent_steel.models.providers.presets import Preset, Structured
from agent_steel.models.providers.stream import Received, guarded

ENDINGS = {
    "max_tokens": Ending.CUT,
    "model_context_window_exceeded": Ending.CUT,
    "refusal": Ending.REFUSED,
}


class AnthropicApi:
    """Asks by messages, streamed; retries are left to whoever asks."""

    def __init__(
        self, preset: Preset, base_url: str, model: str, structured: Structured, limits: Limits
    ) -> None:
        self._preset = preset
        self._model = model
        self._structured = structured
        self._limits = limits
        self._library = library_of("anthropic")
        self._client = self._library.Anthropic(
            api_key=key_of(preset),
            base_url=base_url,
            max_retries=0,
            timeout=limits.timeout(self._library),
        )

    def ask(self, question: Question, heard: Heard) -> Answer:
        """Ask once; raises Failed."""
        received = Received(question, heard)
        return guarded(
            self._library,
            received,
            lambda text: without_key(text, self._preset),
            lambda: self._streamed(received),
        )

    def _streamed(self, received: Received) -> Answer:
        stream = self._client.messages.create(**self._request(received.question))
        with closing(stream):
            for event in self._limits.within(stream):
                received.begun = True
                _take(event, received)
        return received.answer()

    def _request(self, question: Question) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "system": question.system,
            "messages": [{"role": each.role, "content": each.text} for each in question.messages],
            "max_tokens": question.max_tokens,
            "stream": True,
        }
        if self._structured == "schema":
            form = {"type": "json_schema", "schema": dict(question.schema)}
            request["output_config"] = {"format": form}
        return request


def _take(event: Any, received: Received) -> None:
    if event.type == "message_start":
        received.tokens_in = _tokens_in(event.message.usage)
    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
        received.add(event.delta.text)
    elif event.type == "message_delta":
        received.tokens_out = event.usage.output_tokens
        if event.usage.input_tokens is not None:
            received.tokens_in = _tokens_in(event.usage)
        if event.delta.stop_reason:
            received.ending = ENDINGS.get(event.delta.stop_reason, Ending.WHOLE)
        details = event.delta.stop_details
        if details is not None and details.explanation:
            received.refusal.append(details.explanation)


def _tokens_in(usage: Any) -> int:
    """All tokens of the question; those of a cache are told apart from the others."""
    of_cache = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    return int((usage.input_tokens or 0) + of_cache)
