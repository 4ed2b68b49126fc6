"""The official Python SDK drives perigee serve: every tool, resources, prompts, progress and cancellation, in each
era that it speaks. One TAP line a step. Usage: sdk.py PERIGEE ARGUMENT..."""

import asyncio
import json
import sys

import jsonschema
from mcp import Client, MCPError, StdioServerParameters

SAXPY = """extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n%s) z[i] = a * x[i] + y[i];
}
"""
RIGHT, WRONG = SAXPY % "", SAXPY % " - 1"
number = 0
bad = False


def check(name, got, wanted=True):
    global number, bad
    number += 1
    bad = bad or got != wanted
    print(f"{'ok' if got == wanted else 'not ok'} {number} - {name}")
    if got != wanted:
        print(f"# expected: {wanted!r}\n# got: {got!r}")


class Progress:
    def __init__(self):
        self.values = []

    async def __call__(self, progress, total, message):
        self.values.append(progress)

    def grows(self):
        return all(a < b for a, b in zip(self.values, self.values[1:]))


async def tool(client, tool_name, progress=None, **arguments):
    """A tool's structured answer; the SDK itself checks it against the output schema."""
    result = await client.call_tool(tool_name, arguments, progress_callback=progress)
    assert not result.is_error, result.content[0].text
    assert result.content[0].text
    return result.structured_content


async def whole_dialogue(client, era):
    def say(text):
        return f"{era}: {text}"

    check(say("its version"), client.protocol_version, era)
    tools = (await client.list_tools()).tools
    check(say("ten tools"), len(tools), 10)
    for one in tools:
        jsonschema.Draft202012Validator.check_schema(one.input_schema)
        jsonschema.Draft202012Validator.check_schema(one.output_schema)
        for example in one.input_schema.get("examples", []):
            jsonschema.validate(example, one.input_schema)
    check(say("their schemas are schemas, their examples fit"), True)

    found = await tool(client, "list_tasks", text="saxpy")
    check(say("list_tasks"), [task["name"] for task in found["tasks"]], ["vector/saxpy"])
    described = await tool(client, "describe_task", task="vector/saxpy")
    check(say("describe_task"), "void saxpy(" in described["skeleton"])
    broken = await tool(client, "compile", task="vector/saxpy", source=RIGHT.replace("y[i];", "q[i];"))
    check(say("compile names the line"), (broken["compiles"], broken["messages"][0]["line"]), (False, 3))
    progress = Progress()
    wrong = await tool(client, "check", progress, task="vector/saxpy", source=WRONG, name="planted")
    check(say("check finds the planted bug"), wrong["verdict"], "unwritten_output")
    check(say("progress strictly grows"), (progress.grows(), len(progress.values) > 0), (True, True))
    right = await tool(client, "check", task="vector/saxpy", source=RIGHT, name="mended")
    check(say("check passes what is mended"), (right["verdict"], right["passed"]), ("passed", True))
    timed = await tool(client, "time", task="vector/saxpy", attempt=right["attempt"])
    check(say("time compares with naive"), timed["rivals"][0]["name"], "naive")
    profiled = await tool(client, "profile", task="vector/saxpy", source=RIGHT)
    check(say("profile suggests"), all(row["suggests"] for row in profiled["counters"]))
    diff = await tool(client, "diff", a=wrong["attempt"], b=right["attempt"])
    check(say("diff shows the mended line"), "+   if (i < n) z[i]" in diff["source"])
    final = await tool(client, "submit", task="vector/saxpy", attempt=right["attempt"])
    check(say("submit"), (final["verdict"], final["recorded"]), ("passed", True))
    past = await tool(client, "history")
    check(say("history"), past["total"], 4)
    board = await tool(client, "leaderboard", task="vector/saxpy")
    check(say("leaderboard"), len(board["boards"]), 1)

    refused = await client.call_tool("check", {"task": "vector/saxpy", "source": 5})
    check(say("a wrong argument is an error of the tool"), refused.is_error)
    try:
        await client.call_tool("chek", {})
        check(say("an unknown tool is an error"), False)
    except MCPError as error:
        check(say("an unknown tool is an error"), error.code, -32602)

    resources = (await client.list_resources()).resources
    check(say("resources"), "perigee://tasks/vector/saxpy" in [str(one.uri) for one in resources])
    templates = (await client.list_resource_templates()).resource_templates
    check(say("templates"), len(templates), 2)
    text = (await client.read_resource("perigee://tasks/vector/saxpy")).contents[0].text
    check(say("a description is a resource"), "void saxpy(" in text)
    record = (await client.read_resource(f"perigee://attempts/{right['attempt']}")).contents[0].text
    check(say("an attempt is a resource"), json.loads(record)["verdict"], "passed")
    prompts = (await client.list_prompts()).prompts
    check(say("prompts"), [one.name for one in prompts], ["oneshot", "refine", "tools"])
    prompt = await client.get_prompt("refine", {"task": "vector/saxpy", "attempt": str(wrong["attempt"])})
    check(say("a prompt"), "unwritten_output" in prompt.messages[0].content.text)

    endless = RIGHT.replace("  if", "  for (volatile float* p = z; n > 5;) p[0];\n  if")
    hanging = asyncio.create_task(client.call_tool("check", {"task": "vector/saxpy", "source": endless}))
    await asyncio.sleep(1)
    hanging.cancel()
    try:
        await hanging
    except asyncio.CancelledError:
        pass
    again = await asyncio.wait_for(tool(client, "check", task="vector/saxpy", source=RIGHT), 15)
    check(say("after a cancelled call the next is judged"), again["verdict"], "passed")


async def main():
    for mode, era in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
        server = StdioServerParameters(command=sys.argv[1], args=["serve", *sys.argv[2:], "--session", era])
        async with Client(server, mode=mode) as client:
            await whole_dialogue(client, era)
    print(f"1..{number + 3}")  # three more by run_sdk


asyncio.run(main())
sys.exit(bad)
