"""Lone surrogates never leave; everything else does unharmed."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.providers.well_formed import encode_json, well_formed, well_formed_json


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("plain", "plain"),
        ("é 😀", "é 😀"),
        ("a\ud800b", "a�b"),
        ("end\ud83d", "end�"),
        ("\udcffstart", "�start"),
        ("\ud83d\ude00", "😀"),
        ("\ud800\ud83d\ude00", "�😀"),
    ],
    ids=["ascii", "whole", "half", "half at end", "escaped byte", "split pair", "half and pair"],
)
def test_well_formed_text_has_no_lone_surrogate(given_text: str, expected: str) -> None:
    assert well_formed(given_text) == expected


@settings(deadline=None)
@given(st.text(st.characters(codec=None, categories=None)))
def test_well_formed_text_can_always_be_encoded(text: str) -> None:
    well_formed(text).encode("utf-8")


def test_well_formed_json_reaches_keys_and_nested_values() -> None:
    value = {"a\ud800": [{"b": "\udfff"}, 1, None, True, 2.5]}

    assert well_formed_json(value) == {"a�": [{"b": "�"}, 1, None, True, 2.5]}


def test_encoding_a_lone_surrogate_fails_unguarded_and_works_guarded() -> None:
    value = {"command": "ls \ud99c", "emoji": "😀"}

    with pytest.raises(UnicodeEncodeError):
        msgspec.json.encode(value)
    assert json.loads(encode_json(value).decode("utf-8")) == {"command": "ls �", "emoji": "😀"}
