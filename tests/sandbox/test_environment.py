"""The environment that a worker's process sees."""

from __future__ import annotations

from metalbench.sandbox.process import remove_secrets


def test_keys_tokens_and_passwords_are_left_out():
    secret = ("OPENAI_API_KEY", "GITHUB_TOKEN", "api_key", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD")
    plain = ("PATH", "HOME", "METALBENCH_CACHE", "KEYBOARD", "TOKENIZERS_PARALLELISM")
    assert tuple(remove_secrets(dict.fromkeys((*secret, *plain), "x"))) == plain


def test_no_worker_may_make_gpu_traces():
    assert not remove_secrets({"MTL_CAPTURE_ENABLED": "1"})
