"""Records are frozen, say only what differs, and refuse what they don't know."""

import msgspec
import pytest

from modules.records.record import Record, to_json


class Point(Record):
    x: int
    y: int = 0


class Base(Record, tag_field="kind"):
    name: str = ""


class Child(Base, tag="child"):
    size: int


def test_record_can_not_be_changed() -> None:
    point = Point(x=1)

    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]  # what is tested


def test_fields_are_given_by_name_alone_in_subclasses_too() -> None:
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]  # what is tested
    with pytest.raises(TypeError):
        Child("a", 1)  # type: ignore[call-arg]  # what is tested


def test_field_without_a_default_may_follow_one_with_a_default() -> None:
    assert Child(size=1) == Child(name="", size=1)


def test_json_leaves_defaults_out_and_names_the_kind() -> None:
    assert to_json(Point(x=1)) == b'{"x":1}'
    assert to_json(Child(size=1)) == b'{"kind":"child","size":1}'


def test_json_with_a_field_nobody_knows_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(b'{"x":1,"z":2}', type=Point)


@pytest.mark.parametrize(
    ("text", "written"),
    [("\udcff", "\ufffd"), ("\ud83d\ude00", "😀"), ("é\n\0", "é\n\0")],
)
def test_json_of_any_text_is_valid(text: str, written: str) -> None:
    data = to_json(Base(name=text + "\ud800"))

    assert msgspec.json.decode(data) == {"kind": "Base", "name": written + "\ufffd"}
    assert b"\n" not in data
