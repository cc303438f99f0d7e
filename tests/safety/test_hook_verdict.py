import json

import pytest

from modules.safety.hook_matching import Hook, HookEvent
from modules.safety.hook_verdict import (
    LONGEST_TEXT_CHARACTERS,
    HookOutcome,
    HookRun,
    together,
    verdict,
)

BEFORE = Hook(event=HookEvent.PRE_TOOL_USE, matcher="", command="h", source="here")
AFTER = Hook(event=HookEvent.POST_TOOL_USE, matcher="", command="h", source="here")
PROMPT = Hook(event=HookEvent.USER_PROMPT_SUBMIT, matcher="", command="h", source="here")
GUARD = Hook(
    event=HookEvent.PRE_TOOL_USE, matcher="", command="h", source="here", blocks_on_failure=True
)


def answer(**fields: object) -> str:
    return json.dumps(fields)


def specific(**fields: object) -> str:
    return answer(hookSpecificOutput={"hookEventName": "PreToolUse", **fields})


@pytest.mark.parametrize(
    ("hook", "run", "outcome"),
    [
        (BEFORE, HookRun(0), HookOutcome()),
        (BEFORE, HookRun(0, "some words"), HookOutcome()),
        (PROMPT, HookRun(0, " some words\n"), HookOutcome(context="some words")),
        (BEFORE, HookRun(2), HookOutcome("deny", "The hook 'h' (here) says no.")),
        (BEFORE, HookRun(2, "", "because\n"), HookOutcome("deny", "because")),
        (AFTER, HookRun(2, "", "because"), HookOutcome("deny", "because")),
        (BEFORE, HookRun(2, specific(permissionDecision="allow"), "no"), HookOutcome("deny", "no")),
        (
            BEFORE,
            HookRun(1, "", "oops"),
            HookOutcome(warnings=("The hook 'h' (here) failed: exit code 1 oops.",)),
        ),
        (
            BEFORE,
            HookRun(-9),
            HookOutcome(warnings=("The hook 'h' (here) failed: it was ended by signal 9.",)),
        ),
        (
            BEFORE,
            HookRun(failure="it did not end within 2 s"),
            HookOutcome(warnings=("The hook 'h' (here) failed: it did not end within 2 s.",)),
        ),
        (
            GUARD,
            HookRun(127, "", "not found"),
            HookOutcome(
                "deny",
                "The hook 'h' (here) failed: exit code 127 not found.",
                warnings=("The hook 'h' (here) failed: exit code 127 not found.",),
            ),
        ),
        (
            BEFORE,
            HookRun(0, specific(permissionDecision="allow")),
            HookOutcome("allow", "A hook says so."),
        ),
        (
            BEFORE,
            HookRun(0, specific(permissionDecision="ask", permissionDecisionReason="look")),
            HookOutcome("ask", "look"),
        ),
        (
            BEFORE,
            HookRun(0, answer(permissionDecision="deny")),
            HookOutcome("deny", "A hook says so."),
        ),
        (BEFORE, HookRun(0, answer(decision="block", reason="r")), HookOutcome("deny", "r")),
        (BEFORE, HookRun(0, answer(decision="approve")), HookOutcome("allow", "A hook says so.")),
        (AFTER, HookRun(0, answer(decision="block", reason="r")), HookOutcome("deny", "r")),
        (AFTER, HookRun(0, answer(decision="approve")), HookOutcome()),
        (
            BEFORE,
            HookRun(0, '{"continue": false, "stopReason": "enough"}'),
            HookOutcome("deny", "enough"),
        ),
        (BEFORE, HookRun(7, answer(decision="block", reason="r")), HookOutcome("deny", "r")),
        (BEFORE, HookRun(0, answer(systemMessage="hello")), HookOutcome(warnings=("hello",))),
        (
            BEFORE,
            HookRun(0, specific(updatedInput={"command": "ls"}, additionalContext="note")),
            HookOutcome(updated_input={"command": "ls"}, context="note"),
        ),
        (BEFORE, HookRun(0, answer(updatedInput={"a": 1})), HookOutcome(updated_input={"a": 1})),
        (AFTER, HookRun(0, specific(updatedInput={"a": 1})), HookOutcome()),
    ],
)
def test_end_of_a_hook_means(hook: Hook, run: HookRun, outcome: HookOutcome) -> None:
    assert verdict(hook, run) == outcome


@pytest.mark.parametrize(
    "stdout",
    [
        "{",
        '{"permissionDecision": "Deny"}',
        '{"decision": ["block"]}',
        '{"hookSpecificOutput": "deny"}',
        '{"updatedInput": "ls"}',
        '{"decision": "block", "reason": 5}',
        "{" * 100_000,
    ],
    ids=["torn", "word", "list", "object", "input", "reason", "deep"],
)
def test_answer_that_can_not_be_understood_is_a_failure(stdout: str) -> None:
    lenient = verdict(BEFORE, HookRun(0, stdout))
    strict = verdict(GUARD, HookRun(0, stdout))

    assert lenient.behavior == "none"
    assert "can't be understood" in lenient.warnings[0]
    assert strict.behavior == "deny"


def test_long_text_is_cut_with_a_note() -> None:
    outcome = verdict(PROMPT, HookRun(0, "x" * (LONGEST_TEXT_CHARACTERS + 5)))

    assert outcome.context.endswith("\n[5 more characters of the hook's left out]")
    assert len(outcome.context) < LONGEST_TEXT_CHARACTERS + 100


@pytest.mark.parametrize(
    ("behaviors", "behavior"),
    [
        ((), "none"),
        (("none", "none"), "none"),
        (("none", "allow"), "allow"),
        (("allow", "ask"), "ask"),
        (("deny", "allow", "ask"), "deny"),
    ],
)
def test_no_beats_ask_beats_yes(behaviors: tuple[str, ...], behavior: str) -> None:
    outcomes = [HookOutcome(word, word) for word in behaviors]  # type: ignore[arg-type]  # of the table

    assert together(outcomes).behavior == behavior


def test_reasons_of_the_strongest_and_all_contexts_are_joined() -> None:
    outcome = together(
        [
            HookOutcome("deny", "first", context="a", warnings=("w",)),
            HookOutcome("allow", "not this", context="b", warnings=("w", "v")),
            HookOutcome("deny", "second"),
        ]
    )

    assert outcome == HookOutcome("deny", "first\nsecond", None, "a\nb", ("w", "v"))


def test_changed_input_of_the_last_hook_counts_and_others_are_told() -> None:
    outcome = together(
        [HookOutcome(updated_input={"a": 1}), HookOutcome(updated_input={"a": 2}), HookOutcome()]
    )

    assert outcome.updated_input == {"a": 2}
    assert outcome.warnings == (
        "Several hooks change the same input; the last one's change counts.",
    )


def test_no_makes_a_changed_input_void() -> None:
    outcome = together([HookOutcome(updated_input={"a": 1}), HookOutcome("deny", "no")])

    assert outcome.updated_input is None


@pytest.mark.parametrize("event", [HookEvent.STOP, HookEvent.SUBAGENT_STOP])
def test_hook_that_wants_an_end_does_not_send_back_to_work(event: HookEvent) -> None:
    hook = Hook(event=event, matcher="", command="h", source="here")

    ended = verdict(hook, HookRun(0, answer(**{"continue": False}, decision="block", reason="x")))
    blocked = verdict(hook, HookRun(0, answer(decision="block", reason="x")))

    assert ended == HookOutcome()
    assert blocked == HookOutcome("deny", "x")


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ({"behavior": "allow"}, HookOutcome("allow", "A hook says so.")),
        ({"behavior": "deny", "message": "not now"}, HookOutcome("deny", "not now")),
    ],
)
def test_answer_in_the_persons_place_has_a_shape_of_its_own(
    decision: dict[str, object], expected: HookOutcome
) -> None:
    request = Hook(event=HookEvent.PERMISSION_REQUEST, matcher="", command="h", source="here")

    assert verdict(request, HookRun(0, specific(decision=decision))) == expected
    # Nowhere else, and not with another input: nobody would have judged that.
    changed = {**decision, "updatedInput": {"command": "rm -rf /"}}
    for hook, given in ((BEFORE, decision), (request, changed)):
        outcome = verdict(hook, HookRun(0, specific(decision=given)))
        assert (outcome.behavior, len(outcome.warnings)) == ("none", 1)


@pytest.mark.parametrize("output", ["shorter", {"text": "shorter"}, ""])
@pytest.mark.parametrize("key", ["updatedToolOutput", "updatedMCPToolOutput"])
def test_hook_after_a_call_may_replace_its_output(key: str, output: object) -> None:
    run = HookRun(0, specific(**{key: output}))

    assert verdict(AFTER, run) == HookOutcome(updated_output="shorter" if output else "")
    assert verdict(BEFORE, run) == HookOutcome()


@pytest.mark.parametrize("output", [3, ["a"], {"stdout": "a"}])
def test_replaced_output_that_is_no_text_is_a_failure(output: object) -> None:
    outcome = verdict(AFTER, HookRun(0, specific(updatedToolOutput=output)))

    assert outcome.updated_output is None
    assert "updatedToolOutput is neither" in outcome.warnings[0]


def test_last_of_several_replaced_outputs_counts_beside_a_no() -> None:
    outcomes = [
        HookOutcome(updated_output="one"),
        HookOutcome("deny", "no"),
        HookOutcome(updated_output="two"),
    ]

    assert together(outcomes) == HookOutcome(
        "deny",
        "no",
        updated_output="two",
        warnings=("Several hooks replace the same output; the last one's counts.",),
    )
