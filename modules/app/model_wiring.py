"""Joins the way to the models: budget, secrets to mask, providers that are tried again."""

import asyncio
import random
from dataclasses import dataclass

from modules.app.budget import Budget
from modules.app.event_bus import EventBus
from modules.app.known_secrets import known_secrets
from modules.app.models import Models
from modules.app.opening import Opened, now
from modules.app.wait_notes import WaitNotes
from modules.mcp_client.values import ServerEntry
from modules.providers.choose import choose_model
from modules.providers.provider import Provider
from modules.providers.retrying import Retrying
from modules.records.settings import Limit, Settings
from modules.safety.secrets import SecretMask


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoom:
    """What every request to a model passes."""

    budget: Budget
    waits: WaitNotes
    mask: SecretMask
    models: Models


def join_models(
    opened: Opened, settings: Settings, events: EventBus, servers: tuple[ServerEntry, ...]
) -> ModelRoom:
    """Joins the way to the models; raises PersonFault when the workers' can't be used."""
    budget = Budget(
        run=Limit(
            usd=settings.budget_usd,
            tokens=settings.budget_tokens,
            minutes=settings.budget_minutes,
        ),
        task=settings.task_budget,
        worker=settings.worker_budget,
        clock=now,
        warn=events.notice,
    )
    mask = SecretMask(known_secrets(opened.environment, settings, servers))
    waits = WaitNotes(now)
    models = _make_models(opened, settings, budget, events, waits, mask)
    models.check(settings.worker_model)
    return ModelRoom(budget=budget, waits=waits, mask=mask, models=models)


def _make_models(
    opened: Opened,
    settings: Settings,
    budget: Budget,
    events: EventBus,
    waits: WaitNotes,
    mask: SecretMask,
) -> Models:
    def retrying(provider: Provider, agent: str) -> Provider:
        async def sleep(seconds: float) -> None:
            with waits.waiting(agent, "its model's provider", at_most_seconds=seconds):
                await asyncio.sleep(seconds)

        return Retrying(
            provider,
            sleep=sleep,
            random=random.random,
            clock=now,
            notice=events.notice,
        )

    return Models(
        choose=lambda spec: choose_model(
            spec or settings.model, settings, opened.environment, clock=now, sleep=asyncio.sleep
        ),
        retrying=retrying,
        budget=budget,
        events=events,
        mask=mask.masked,
    )
