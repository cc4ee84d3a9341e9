"""The providers: where each is, what its key is called, and what it understands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Structured = Literal["schema", "object", "text"]


@dataclass(frozen=True)
class Preset:
    """A provider. `api` says which protocol it speaks.

    `key_variable` is the environment variable with its key; `needs_key` is false of servers of
    one's own, which also cost nothing. `structured` is how it can be held to a form: by a JSON
    schema, to any JSON object, or by the prompt alone. `limit` is what it calls the most tokens
    of an answer.
    """

    name: str
    api: Literal["openai", "anthropic"]
    base_url: str
    key_variable: str
    default_model: str = ""
    needs_key: bool = True
    structured: Structured = "schema"
    limit: str = "max_tokens"


_ALL = (
    Preset(
        "openai",
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        default_model="gpt-6.2-sol",
        limit="max_completion_tokens",
    ),
    Preset(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
    ),
    Preset("openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Preset(
        "deepseek",
        "openai",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        structured="object",
    ),
    Preset("ollama", "openai", "http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    Preset("vllm", "openai", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
)
PRESETS = {each.name: each for each in _ALL}
NAMES = tuple(PRESETS)
