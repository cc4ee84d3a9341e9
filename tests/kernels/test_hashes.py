"""Hash kernels and their oracles against the digests that standards have published."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task import hashes

# FIPS 180-4's examples of one block and of two.
SHORT = b"abc"
LONG = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
SHA256 = {
    SHORT: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    LONG: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
}
# NIST's examples of SHA3-256 with the same messages.
SHA3 = {
    SHORT: "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
    LONG: "41c0dba2a9d6240849100376a8235e2c82e1b9998a999e21db32dd97496d3376",
}
# Ethereum's: the hash of `transfer(address,uint256)` begins with the selector a9059cbb.
KECCAK = {
    SHORT: "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
    b"transfer(address,uint256)": (
        "a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b"
    ),
}
# The test vectors of BLAKE3's repository: bytes 0 to 250 again and again.
BLAKE3 = {
    1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
    1023: "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
    3073: "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
    5121: "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff",
    7169: "a003fc7a51754a9b3c7fae0367ab3d782dccf28855a03d435f8cfe74605e7817",
}
# RFC 9162's tree over the leaves of the test vectors of certificate transparency (RFC 6962).
LEAVES = [b"\x00\x10", b"\x20\x21", b"\x30\x31", b"\x40\x41", b"\x50\x51"]


def as_array(*messages: bytes) -> np.ndarray:
    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)


def counted(length: int) -> np.ndarray:
    return (np.arange(length) % 251).astype(np.uint8)


@pytest.mark.parametrize(
    ("name", "message", "digest"),
    [
        (name, message, digest)
        for name, known in (("sha256", SHA256), ("sha3_256", SHA3), ("keccak_256", KECCAK))
        for message, digest in known.items()
    ],
)
def test_digests_of_the_standards(name: str, message: bytes, digest: str) -> None:
    size = f"messages=2,length={len(message)}"
    found = compute(name, size, x=as_array(message, message))[1]["y"]
    assert [each.tobytes().hex() for each in found] == [digest, digest]


@pytest.mark.parametrize(("suffix", "known"), [(6, SHA3), (1, KECCAK)])
def test_the_oracle_of_keccak(suffix: int, known: dict[bytes, str]) -> None:
    for message, digest in known.items():
        found = hashes.keccak(as_array(message), suffix=suffix)
        assert found[0].tobytes().hex() == digest


@pytest.mark.parametrize("length", [0, 1, 135, 136, 137, 271, 272])
def test_the_oracle_of_keccak_is_hashlib_at_ends_of_blocks(length: int) -> None:
    message = counted(length).tobytes()
    found = hashes.keccak(np.frombuffer(message, np.uint8)[None], suffix=6)
    assert found[0].tobytes() == hashlib.sha3_256(message).digest()


@pytest.mark.parametrize("length", [1, 55, 56, 63, 64, 119, 120, 128])
def test_sha256_at_ends_of_blocks(length: int) -> None:
    message = counted(length).tobytes()
    found = compute("sha256", f"messages=1,length={length}", x=as_array(message))[1]["y"]
    assert found.tobytes() == hashlib.sha256(message).digest()


def test_sha256_of_messages_of_any_length_in_any_order() -> None:
    lengths = [0, 200, 55, 56, 0, 64, 1000, 1, 119, 120, 3]
    x = counted(sum(lengths))
    offsets = np.cumsum([0, *lengths]).astype(np.uint32)
    size = f"messages={len(lengths)},bytes={len(x)}"
    found = compute("sha256_ragged", size, x=x, offsets=offsets)[1]["y"]
    for each, first, length in zip(found, offsets, lengths, strict=False):
        message = x[first : first + length].tobytes()
        assert each.tobytes() == hashlib.sha256(message).digest(), length


@pytest.mark.parametrize(("length", "digest"), BLAKE3.items())
def test_blake3(length: int, digest: str) -> None:
    x = counted(length)
    assert hashes.blake3(x).tobytes().hex() == digest
    assert compute("blake3", f"bytes={length}", x=x)[1]["y"].tobytes().hex() == digest


def root_by_definition(leaves: list[bytes]) -> bytes:
    """The recursive definition, RFC 9162, section 2.1.1."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    both = root_by_definition(leaves[:split]) + root_by_definition(leaves[split:])
    return hashlib.sha256(b"\x01" + both).digest()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 257, 515])
def test_merkle_root(count: int) -> None:
    leaves = [LEAVES[i % len(LEAVES)] for i in range(count)]
    expected = root_by_definition(leaves)
    x = as_array(*leaves)
    assert hashes.merkle_root(x).tobytes() == expected
    assert compute("merkle_root", f"leaves={count},length=2", x=x)[1]["y"].tobytes() == expected


def test_a_published_merkle_root() -> None:
    """The root of one leaf without bytes, from certificate transparency's test vectors."""
    expected = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert hashes.merkle_root(np.zeros((1, 0), np.uint8)).tobytes().hex() == expected
