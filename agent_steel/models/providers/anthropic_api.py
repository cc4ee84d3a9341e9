"""Messages: the protocol of Anthropic."""

from __future__ import annotations

from typing import Any

from agent_steel.models.providers.adapter import Adapter
from agent_steel.models.providers.api import Ending, Question, Received

ENDINGS = {
    "max_tokens": Ending.CUT,
    "model_context_window_exceeded": Ending.CUT,
    "refusal": Ending.REFUSED,
}


class AnthropicApi(Adapter):
    """Asks by messages."""

    library = "anthropic"
    client = "Anthropic"

    def _open(self, question: Question) -> Any:
        return self._client.messages.create(**self._request(question))

    def _request(self, question: Question) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "system": question.system,
            "messages": [{"role": each.role, "content": each.text} for each in question.messages],
            "max_tokens": question.max_tokens,
            "stream": True,
        }
        if question.temperature is not None:
            request["temperature"] = question.temperature
        if question.form and self._structured == "schema":
            form = {"type": "json_schema", "schema": dict(question.schema)}
            request["output_config"] = {"format": form}
        return request

    def _take(self, event: Any, received: Received) -> None:
        if event.type == "message_start":
            received.tokens_in = _tokens_in(event.message.usage)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            received.add(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "thinking_delta":
            received.add_thought(event.delta.thinking)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            received.add_call(event.index, event.delta.partial_json)
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
    """Return all input tokens. The API counts cached tokens separately."""
    of_cache = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    return int((usage.input_tokens or 0) + of_cache)
