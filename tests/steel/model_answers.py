"""Answers of a scripted server of models, in the words of either protocol, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PIECE = 40


@dataclass(frozen=True)
class Step:
    """The answer to one request.

    `then` is what follows the text: its 'end', a 'cut' of the connection, a 'stop' of the stream
    without an end, 'silence' until the server is closed, an 'error' event, or what the protocols
    call a 'limit' and a 'refusal'. With 'call' the text is the arguments of a tool call. With
    another `status` than 200 `text` is the error's message, and `kind` its type.
    """

    text: str = ""
    then: str = "end"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    tokens_in: int = 100
    tokens_out: int = 50


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


def openai_events(step: Step, model: str) -> Iterator[bytes]:
    def chunk(delta: Mapping[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _event({**_chunk(model), "choices": choices, **more})

    yield chunk({"role": "assistant", "content": ""})
    key = "refusal" if step.then == "refusal" else "content"
    for piece in _pieces(step.text):
        function = {"name": "kernel", "arguments": piece}
        call = {"index": 0, "id": "call-1", "type": "function", "function": function}
        yield chunk({"tool_calls": [call]} if step.then == "call" else {key: piece})
    if step.then == "error":
        yield _event({"error": {"type": "server_error", "message": "scripted"}})
    ends = {"end": "stop", "limit": "length", "refusal": "stop", "call": "tool_calls"}
    if step.then in ends:
        yield chunk({}, ends[step.then])
        yield _event({**_chunk(model), "choices": [], "usage": _openai_usage(step)})
        yield _event("[DONE]")


def _chunk(model: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _openai_usage(step: Step) -> dict[str, int]:
    total = step.tokens_in + step.tokens_out
    return {
        "prompt_tokens": step.tokens_in,
        "completion_tokens": step.tokens_out,
        "total_tokens": total,
    }


def anthropic_events(step: Step, model: str) -> Iterator[bytes]:
    def event(kind: str, **data: Any) -> bytes:
        return _event({"type": kind, **data}, kind)

    yield event("message_start", message=_message(step, model, []))
    yield event("ping")
    calls = step.then == "call"
    tool = {"type": "tool_use", "id": "tool-1", "name": "kernel", "input": {}}
    block = tool if calls else {"type": "text", "text": ""}
    yield event("content_block_start", index=0, content_block=block)
    text = "" if step.then == "refusal" else step.text
    for piece in _pieces(text):
        delta = {"type": "text_delta", "text": piece}
        if calls:
            delta = {"type": "input_json_delta", "partial_json": piece}
        yield event("content_block_delta", index=0, delta=delta)
    if step.then == "error":
        error = {"type": "overloaded_error", "message": "scripted"}
        yield event("error", error=error)
    ends = {"end": "end_turn", "limit": "max_tokens", "refusal": "refusal", "call": "tool_use"}
    if step.then in ends:
        yield event("content_block_stop", index=0)
        end: dict[str, Any] = {"stop_reason": ends[step.then], "stop_sequence": None}
        if step.then == "refusal":
            end["stop_details"] = {"type": "refusal", "category": None, "explanation": step.text}
        yield event("message_delta", delta=end, usage={"output_tokens": step.tokens_out})
        yield event("message_stop")


def _message(step: Step, model: str, content: list[Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": step.tokens_in, "output_tokens": 1},
    }


def whole_answer(api: str, step: Step, body: Mapping[str, Any]) -> dict[str, Any]:
    model = str(body["model"])
    if api == "anthropic":
        message = _message(step, model, [{"type": "text", "text": step.text}])
        return {**message, "stop_reason": "end_turn"}
    said = {"role": "assistant", "content": step.text}
    choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
    return {
        **_chunk(model),
        "object": "chat.completion",
        "choices": choices,
        "usage": _openai_usage(step),
    }
