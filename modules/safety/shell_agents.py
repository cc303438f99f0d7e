"""Notes commands that start another agent; pure.

An agent that starts another one, or one whose questions are switched off, steps out of the crew.
"""

import re
from itertools import pairwise

from modules.safety.shell_case import Case
from modules.safety.shell_tables import AGENTS, names

_AGENT_MODULE = re.compile(
    r"crewyard(?:\..*)?|modules\.app(?:\..*)?|(?:team|crew|agents?|lead)\.(?:lead|worker|cli|main|__main__|app)"
    r"|aider(?:\..*)?|openhands(?:\..*)?|autogpt(?:\..*)?|interpreter"
)
_AGENT_PACKAGE = re.compile(
    r"(?:@anthropic-ai/claude-code|@openai/codex|@google/gemini-cli|opencode-ai|aider-chat|crewyard"
    r"|open-interpreter)(?:@.*)?"
)
_UNCHECKED_OPTION = re.compile(
    r"--yolo|--dangerously-\w[\w-]*|--full-auto|--mode=yolo|--permission-mode=bypass\w*"
)
_FETCHERS = names("npx bunx uvx pipx")
"""Programs that fetch another program and run it."""
_PACKAGE_PROGRAMS = _FETCHERS | names("npm pnpm yarn bun uv deno pip")


def judge_agent(case: Case) -> None:
    """Notes an agent among the modules, options and packages of a program."""
    texts = [word.text for word in case.args]
    modules = [after for before, after in pairwise(texts) if before == "-m"]
    if (
        any(_AGENT_MODULE.fullmatch(module) for module in modules)
        or any(_UNCHECKED_OPTION.fullmatch(text) for text in texts)
        or ("--mode", "yolo") in pairwise(texts)
        or _is_package(case.name, texts)
    ):
        case.critical("bash:agent", "starts another agent")


def _is_package(name: str, texts: list[str]) -> bool:
    if name in _PACKAGE_PROGRAMS and any(_AGENT_PACKAGE.fullmatch(text) for text in texts):
        return "install" not in texts
    return name in _FETCHERS and any(text in AGENTS for text in texts)
