"""Chat completions: the protocol of OpenAI, which most other servers speak too."""

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
    "stop": Ending.WHOLE,
    "length": Ending.CUT,
    "content_filter": Ending.REFUSED,
}


class OpenAIApi:
    """Asks by chat completions, streamed; retries are left to whoever asks."""

    def __init__(
        self, preset: Preset, base_url: str, model: str, structured: Structured, limits: Limits
    ) -> None:
        self._preset = preset
        self._model = model
        self._structured = structured
        self._limits = limits
        self._library = library_of("openai")
        self._client = self._library.OpenAI(
            api_key=key_of(preset),
            base_url=base_url,
            max_retries=0,
            timeout=limits.timeout(self._library),
        )
        if preset.name != "openai":
            # The library takes these from variables that are meant for OpenAI alone.
            self._client.organization = self._client.project = None

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
        stream = self._client.chat.completions.create(**self._request(received.question))
        with closing(stream):
            for chunk in self._limits.within(stream):
                received.begun = True
                _take(chunk, received)
        return received.answer()

    def _request(self, question: Question) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": question.system},
                *({"role": each.role, "content": each.text} for each in question.messages),
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            self._preset.limit: question.max_tokens,
        }
        if self._structured == "schema":
            schema = {"name": question.form, "strict": True, "schema": dict(question.schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self._structured == "object":
            request["response_format"] = {"type": "json_object"}
        return request


def _take(chunk: Any, received: Received) -> None:
    if chunk.usage is not None:
        received.tokens_in = chunk.usage.prompt_tokens
        received.tokens_out = chunk.usage.completion_tokens
    for choice in chunk.choices or ():
        delta = choice.delta
        if delta is not None and delta.content:
            received.add(delta.content)
        if delta is not None and delta.refusal:
            received.refusal.append(delta.refusal)
        if choice.finish_reason:
            ending = ENDINGS.get(choice.finish_reason, Ending.WHOLE)
            received.ending = Ending.REFUSED if received.refusal else ending
