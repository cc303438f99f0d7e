"""A server whose tool `swap` puts `t2` in the place of `t1`, and says so before it answers.

`swap_later` says so after its answer; `restless` makes every reading of the list change it.
"""

from tests.fakes.mcp_servers.wire import Message, refuse, reply, send, serve, tool, words


def main() -> None:
    names = ["swap", "swap_later", "restless", "t1"]
    is_restless = False

    def announce() -> None:
        send({"method": "notifications/tools/list_changed"})

    def call(request: Message, name: str, _arguments: Message) -> None:
        nonlocal is_restless
        if name not in names:
            refuse(request, -32602, f"Unknown tool: {name}")
            return
        is_restless = is_restless or name == "restless"
        if name.startswith("swap"):
            names[-1] = "t2"
        if name != "swap_later":
            announce()
        reply(request, words(f"{name} done"))
        if name == "swap_later":
            announce()

    def tools(_params: Message) -> Message:
        if is_restless:
            announce()
        return {"tools": [tool(name) for name in names]}

    serve(tools, call)


if __name__ == "__main__":
    main()
