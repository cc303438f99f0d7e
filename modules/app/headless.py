"""A run without a person: a goal for the lead, or a board to drain; both end by themselves."""

from modules.app.lead_agent import LeadAgent
from modules.app.report import RunReport, exit_code_of, summary_line
from modules.app.run import Run
from modules.records.errors import PersonFault
from modules.records.exits import Exit

SERVER_SECONDS = 30.0  # without a person a run waits for the tools it was given


async def run_goal(run: Run, lead: LeadAgent, goal: str) -> RunReport:
    """Gives the lead a goal and returns when it is done and the crew is quiet."""
    _warn_without_jail(run)
    async with run.at_work(server_seconds=SERVER_SECONDS):
        run.house.events.listen(lead.take_event)
        end = await lead.turn(goal)
        while await _has_news(run, lead):
            end = await lead.turn()
        if end.failure or end.awaits:
            raise PersonFault(
                f"The lead stopped: {end.failure or end.awaits}",
                hint="See its session below .team/sessions.",
                exit_code=Exit.FAILED,
            )
        report = run.report(lead.last_text, Exit.DONE)
    return _with_exit(run, report)


async def run_board(run: Run) -> RunReport:
    """Drains the board without a lead's model and returns when the crew is quiet."""
    _warn_without_jail(run)
    async with run.at_work(server_seconds=SERVER_SECONDS):
        while not run.is_quiet:
            await run.house.events.stirred()
        report = run.report("", Exit.DONE)
    return _with_exit(run, report)


def _warn_without_jail(run: Run) -> None:
    if not run.house.sandbox.is_jail:
        run.house.events.notice(run.house.sandbox.why)


async def _has_news(run: Run, lead: LeadAgent) -> bool:
    """Returns True once the lead has something to hear, False once nothing can come any more."""
    while not lead.has_news:
        if run.is_quiet:
            return False
        await run.house.events.stirred()
    return True


def _with_exit(run: Run, report: RunReport) -> RunReport:
    return run.report(report.result or summary_line(report.tasks), exit_code_of(report.tasks))
