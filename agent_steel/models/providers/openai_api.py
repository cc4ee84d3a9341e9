"""Chat completions: the protocol of OpenAI, which most other servers speak too."""

from __future__ import annotations

from typing import Any

from agent_steel.models.providers.adapter import Adapter
from agent_steel.models.providers.api import Ending, Question, Received, RequestLimits
from agent_steel.models.providers.presets import Preset, Structured

ENDINGS = {
    "stop": Ending.WHOLE,
    "length": Ending.CUT,
    "content_filter": Ending.REFUSED,
}


class OpenAIApi(Adapter):
    """Asks by chat completions."""

    library = "openai"
    client = "OpenAI"

    def __init__(
        self,
        preset: Preset,
        base_url: str,
        model: str,
        structured: Structured,
        limits: RequestLimits,
    ) -> None:
        super().__init__(preset, base_url, model, structured, limits)
        if preset.name != "openai":
            # The library takes these from variables that are meant for OpenAI alone.
            self._client.organization = self._client.project = None

    def _open(self, question: Question) -> Any:
        return self._client.chat.completions.create(**self._request(question))

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
        if question.temperature is not None:
            request["temperature"] = question.temperature
        if not question.form:
            return request
        if self._structured == "schema":
            schema = {"name": question.form, "strict": True, "schema": dict(question.schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self._structured == "object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _take(self, chunk: Any, received: Received) -> None:
        if chunk.usage is not None:
            received.tokens_in = chunk.usage.prompt_tokens
            received.tokens_out = chunk.usage.completion_tokens
        for choice in chunk.choices or ():
            delta = choice.delta
            if delta is not None and delta.content:
                received.add(delta.content)
            thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
            if isinstance(thought, str):
                received.add_thought(thought)
            for call in (delta.tool_calls or ()) if delta is not None else ():
                if call.function is not None and call.function.arguments:
                    received.add_call(call.index, call.function.arguments)
            if delta is not None and delta.refusal:
                received.refusal.append(delta.refusal)
            if choice.finish_reason:
                ending = ENDINGS.get(choice.finish_reason, Ending.WHOLE)
                received.ending = Ending.REFUSED if received.refusal else ending
