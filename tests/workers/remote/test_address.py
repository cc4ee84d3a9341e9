"""Addresses that `--on` accepts."""

from __future__ import annotations

import subprocess

import pytest

from metalbench.errors import DeclarationError
from metalbench.workers.ssh import Address

GOOD = {
    "ssh://mac": Address("mac"),
    "ssh://mac.local:2222": Address("mac.local", port=2222),
    "ssh://me@10.0.0.2/opt/bench": Address("10.0.0.2", "me", folder="/opt/bench"),
    "ssh://me@[fe80::1%en0]:22/~/a b": Address("fe80::1%en0", "me", 22, "~/a b"),
}


@pytest.mark.parametrize("text", GOOD)
def test_addresses_are_read_and_written(text: str) -> None:
    assert Address.parse(text) == GOOD[text]
    assert str(GOOD[text]) == text


@pytest.mark.parametrize(
    "text",
    [
        *("mac", "http://mac", "ssh://", "ssh://mac:0", "ssh://mac:70000", "ssh://mac/a\nb"),
        # What ssh would read as options.
        *("ssh://-oProxyCommand=id", "ssh://-l@mac", "ssh://mac -oA=b", "ssh://$(id)"),
    ],
)
def test_parse_refuses_invalid_addresses(text: str) -> None:
    with pytest.raises(DeclarationError, match=r"^expected "):
        Address.parse(text)


def test_ssh_arguments_have_port_user_and_host() -> None:
    address = GOOD["ssh://me@[fe80::1%en0]:22/~/a b"]
    assert address.ssh_arguments == ["-p", "22", "-l", "me", "--", "fe80::1%en0"]


@pytest.mark.parametrize("folder", ["/a b/$(id)'\"", "~/a b/$(id)'\""])
def test_folders_are_quoted_as_one_shell_word(folder: str) -> None:
    word = Address("mac", folder=folder).shell_folder
    said = subprocess.run(
        ["sh", "-c", f"printf %s {word}"],
        env={"HOME": "/home/me"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == folder.replace("~", "/home/me")
