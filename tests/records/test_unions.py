"""Every record that is written somewhere is told from its kin by its tag, and comes back whole."""

from datetime import UTC, datetime
from typing import Any, Union, get_args

import msgspec
import pytest

from modules.records.board_records import AnyBoardRecord
from modules.records.decisions import Subject
from modules.records.events import AnyEvent
from modules.records.mail import AnyMailRecord
from modules.records.messages import Block
from modules.records.protocol import AnyLeadMessage, AnyWorkerMessage
from modules.records.record import Record, to_json
from modules.records.session_records import AnySessionRecord

UNIONS: dict[str, Any] = {  # Any: a union is no type
    "board": AnyBoardRecord,
    "mail": AnyMailRecord,
    "session": AnySessionRecord,
    "worker": AnyWorkerMessage,
    "lead": AnyLeadMessage,
    "event": AnyEvent,
    "block": Block,
    "subject": Subject,
}


def subclasses(kind: type[Any]) -> list[type[Any]]:
    return kind.__subclasses__()


def members(name: str) -> list[type[Record]]:
    return list(get_args(UNIONS[name]))


@pytest.mark.parametrize("name", UNIONS)
def test_union_holds_every_record_of_its_module_with_a_tag_of_its_own(name: str) -> None:
    kinds = members(name)
    tags = [msgspec.inspect.type_info(kind).tag for kind in kinds]  # type: ignore[attr-defined]  # a struct's

    bases: set[type] = {
        base for kind in kinds for base in kind.__mro__ if base.__module__ == kind.__module__
    }
    kin = {other for base in bases for other in subclasses(base) if other not in bases}

    assert len(set(tags)) == len(kinds)
    assert all(tags)
    assert kin == set()


@pytest.mark.parametrize("name", UNIONS)
def test_every_record_of_a_union_comes_back_as_itself(name: str) -> None:
    for kind in members(name):
        record = sample(kind)

        assert msgspec.json.decode(to_json(record), type=UNIONS[name]) == record


def sample(kind: Any) -> Any:
    """Returns a value of a type, with the required fields of records alone."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        given = {
            field.name: sample(field.type)
            for field in msgspec.structs.fields(kind)
            if field.required
        }
        return kind(**given)
    simple: dict[Any, Any] = {
        str: "a",
        int: 1,
        float: 0.5,
        bool: True,
        datetime: datetime(2026, 3, 4, tzinfo=UTC),
    }
    if kind in simple:
        return simple[kind]
    origin, parts = getattr(kind, "__origin__", None), get_args(kind)
    if origin in (tuple, dict):
        return origin()
    if isinstance(kind, type):
        return next(iter(kind))  # type: ignore[call-overload]  # an enum
    if origin is Union or parts:
        first = parts[0]
        return first if isinstance(first, str) else sample(first)
    raise AssertionError(f"no sample of {kind!r}")
