"""Words are sealed under one developer's key, and are gone once it is destroyed."""

import stat
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.log.vault import FileKeys, Keys, Vault, VaultError
from tests.support.log import ANA, BEN
from tests.support.memory import MemoryKeys


@pytest.fixture(params=["memory", "files"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> Keys:
    """The contract holds wherever the keys lie."""
    return MemoryKeys() if request.param == "memory" else FileKeys(tmp_path / "keys")


def test_a_sealed_text_opens_to_itself(keys: Keys) -> None:
    """Short, long, empty and broken texts come back as they were."""
    vault = Vault(keys)
    for text in ("", "x", "short", "long " * 1000, "한국어", "\ud800 a lone surrogate", "\0"):
        assert vault.open(vault.seal(ANA, text)) == text


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_opens_to_itself(text: str) -> None:
    """No text is beyond the vault."""
    vault = Vault(MemoryKeys())
    assert vault.open(vault.seal(ANA, text)) == text


def test_another_vault_over_the_same_keys_opens_what_one_sealed(keys: Keys) -> None:
    """The key, not the object, is what counts."""
    assert Vault(keys).open(Vault(keys).seal(ANA, "secret plan")) == "secret plan"


def test_the_text_is_not_readable_in_the_seal(keys: Keys) -> None:
    """A search of the log finds no words."""
    assert b"plan" not in Vault(keys).seal(ANA, "plan")


def test_one_text_sealed_twice_gives_two_seals(keys: Keys) -> None:
    """Equal texts cannot be told by equal bytes."""
    vault = Vault(keys)
    assert vault.seal(ANA, "again") != vault.seal(ANA, "again")


def test_a_long_text_is_compressed_before_it_is_sealed(keys: Keys) -> None:
    """A prompt that repeats itself takes far less room than its characters."""
    assert len(Vault(keys).seal(ANA, "the same words " * 100)) < 200


def test_words_are_gone_once_the_key_is_destroyed(keys: Keys) -> None:
    """Also for a vault that had the key at hand."""
    vault = Vault(keys)
    sealed = vault.seal(ANA, "forget me")
    vault.destroy(ANA)
    assert vault.open(sealed) is None
    assert Vault(keys).open(sealed) is None


def test_destroying_one_key_leaves_the_others(keys: Keys) -> None:
    """Ben's words survive Ana's leaving."""
    vault = Vault(keys)
    sealed = vault.seal(BEN, "still here")
    vault.seal(ANA, "gone")
    vault.destroy(ANA)
    assert vault.open(sealed) == "still here"


def test_a_person_who_returns_cannot_read_what_was_forgotten(keys: Keys) -> None:
    """The new key opens new words only, and the old ones are no error."""
    vault = Vault(keys)
    old = vault.seal(ANA, "old")
    vault.destroy(ANA)
    fresh = vault.seal(ANA, "new")
    assert (vault.open(old), vault.open(fresh)) == (None, "new")


def test_destroying_a_key_that_never_was_is_no_error(keys: Keys) -> None:
    """Erasing a person twice is the same as once."""
    Vault(keys).destroy(ANA)


@pytest.mark.parametrize("place", [0, 25, 36, -1])
def test_a_changed_seal_is_an_error(keys: Keys, place: int) -> None:
    """Version, nonce and ciphertext: a changed byte is never read as a text."""
    vault = Vault(keys)
    sealed = bytearray(vault.seal(ANA, "as it was"))
    sealed[place] ^= 1
    with pytest.raises(VaultError):
        vault.open(bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + b"x" * 30])
def test_what_is_no_seal_is_an_error(keys: Keys, sealed: bytes) -> None:
    """Too short to hold a header and a nonce."""
    with pytest.raises(VaultError):
        Vault(keys).open(sealed)


def test_digests_agree_for_one_developer_only(keys: Keys) -> None:
    """The same word gives Ana the same number in every vault, and Ben another one."""
    word = "login.py"
    ana = Vault(keys).digester(ANA).number(word)
    assert ana == Vault(keys).digester(ANA).number(word)
    assert ana != Vault(keys).digester(BEN).number(word)


def test_the_randomness_is_the_one_that_was_given() -> None:
    """A test that passes its own randomness gets the same seal every time."""
    first, second = (Vault(MemoryKeys(), random=lambda count: b"r" * count) for _ in range(2))
    assert first.seal(ANA, "text") == second.seal(ANA, "text")


def test_threads_that_need_a_key_at_once_get_the_same_one(keys: Keys) -> None:
    """The first seals of a developer race; every one of them can be opened."""
    vaults = [Vault(keys) for _ in range(4)]
    barrier = Barrier(len(vaults))
    sealed: list[bytes] = []

    def seal(vault: Vault) -> None:
        barrier.wait()
        sealed.append(vault.seal(ANA, "first"))

    threads = [Thread(target=seal, args=(vault,)) for vault in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Vault(keys).open(each) for each in sealed] == ["first"] * len(vaults)


def test_key_files_are_for_the_server_alone(tmp_path: Path) -> None:
    """The folder has mode 700, each file 600, and nothing else is left behind."""
    folder = tmp_path / "keys"
    Vault(FileKeys(folder)).seal(ANA, "text")
    (key,) = folder.iterdir()
    assert key.name == f"{ANA}.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_torn_key_file_is_named(tmp_path: Path) -> None:
    """A damaged key is an error with the developer's id, not a wrong key."""
    (tmp_path / f"{ANA}.key").write_bytes(b"short")
    with pytest.raises(VaultError, match=str(ANA)):
        Vault(FileKeys(tmp_path)).seal(ANA, "text")


def test_a_key_that_cannot_be_kept_seals_nothing(tmp_path: Path) -> None:
    """No text is ever sealed under a key that exists in memory only."""
    folder = tmp_path / "keys"
    vault = Vault(FileKeys(folder))
    folder.rmdir()
    with pytest.raises(OSError, match="No such file"):
        vault.seal(ANA, "text")
    folder.mkdir()
    assert vault.open(vault.seal(ANA, "text")) == "text"
