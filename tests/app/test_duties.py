"""Errors of duties end the body, whenever they come."""

import asyncio

import pytest

from modules.app.duties import guarded


def test_duty_that_fails_ends_the_body_and_the_other_duties() -> None:
    ended: list[str] = []

    async def fails() -> None:
        raise ValueError("disk full")

    async def goes_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("duty")

    async def story() -> None:
        async with guarded(asyncio.get_running_loop().create_future(), [fails(), goes_on()]):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("body")

    with pytest.raises(ValueError, match="disk full"):
        asyncio.run(story())

    assert ended == ["body", "duty"]


@pytest.mark.parametrize("has_duty", [False, True])
@pytest.mark.parametrize("comes_before_the_end", [False, True])
def test_error_that_comes_as_the_body_ends_is_raised_and_cancels_nobody(
    has_duty: bool, comes_before_the_end: bool
) -> None:
    async def end_with(failed: "asyncio.Future[None]") -> None:
        async with guarded(failed, [asyncio.sleep(600)] if has_duty else []):
            failed.set_exception(ValueError("disk full"))
            if comes_before_the_end:
                await asyncio.sleep(0)

    async def story() -> int:
        with pytest.raises(ValueError, match="disk full"):
            await end_with(asyncio.get_running_loop().create_future())
        # What was due in the loop when the body ended may cancel it only now.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        current = asyncio.current_task()
        assert current is not None
        return current.cancelling()

    assert asyncio.run(story()) == 0


def test_cancelled_body_without_any_error_stays_cancelled() -> None:
    async def story() -> None:
        async with guarded(asyncio.get_running_loop().create_future(), []):
            current = asyncio.current_task()
            assert current is not None
            current.cancel()
            await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(story())
