"""Words are sealed under one developer's key, and are gone once it is destroyed."""

import stat
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.log.vault import FileKeys, Keys, Vault, VaultError
from tests.support.basics import ANA, BEN, MemoryKeys


@pytest.fixture(params=["memory", "files"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> Keys:
    """The contract holds wherever the keys lie."""
    return MemoryKeys() if request.param == "memory" else FileKeys(tmp_path / "keys")


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_opens_to_itself(text: str) -> None:
    vault = Vault(MemoryKeys())
    for each in (text, text * 500):
        assert vault.open(vault.seal(ANA, each)) == each


def test_a_seal_shows_nothing_and_opens_by_the_key_alone(keys: Keys) -> None:
    """Another vault over the same keys opens it; equal texts have different seals, long ones take little room."""
    vault, text = Vault(keys), "secret plan " * 100
    one, two = vault.seal(ANA, text), vault.seal(ANA, text)
    assert Vault(keys).open(one) == vault.open(two) == text
    assert one != two
    assert b"plan" not in Vault(keys).seal(ANA, "plan")
    assert len(one) < 200


def test_words_are_gone_once_the_key_is_destroyed(keys: Keys) -> None:
    """Also for a vault that had it at hand and for a person who returns; others' words stay. Twice is as once."""
    vault = Vault(keys)
    old, others = vault.seal(ANA, "forget me"), vault.seal(BEN, "still here")
    for _ in range(2):
        vault.destroy(ANA)
    assert (vault.open(old), Vault(keys).open(old)) == (None, None)
    assert vault.open(vault.seal(ANA, "new")) == "new"
    assert (vault.open(old), vault.open(others)) == (None, "still here")


@pytest.mark.parametrize("place", [0, 25, 36, -1])
def test_a_changed_seal_is_an_error(place: int) -> None:
    """Version, nonce and ciphertext: a changed byte is never read as a text, nor is what is too short."""
    vault = Vault(MemoryKeys())
    sealed = bytearray(vault.seal(ANA, "as it was"))
    sealed[place] ^= 1
    for wrong in (bytes(sealed), b"", b"\x01", b"\x01" + b"x" * 30):
        with pytest.raises(VaultError):
            vault.open(wrong)


def test_digests_agree_for_one_developer_only(keys: Keys) -> None:
    """The same word gives Ana the same number in every vault, and Ben another one."""
    word = "login.py"
    ana = Vault(keys).digester(ANA).number(word)
    assert ana == Vault(keys).digester(ANA).number(word)
    assert ana != Vault(keys).digester(BEN).number(word)


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
