"""An agent without a language model: over the official Python SDK of the Model Context Protocol it asks what the task
is, sends a kernel with two bugs, reads what was said of it, mends each by a rule, measures and submits.

    pip install mcp
    python3 mend.py [PERIGEE [ARGUMENT...]]        for example: python3 mend.py build/perigee --device sim:check
"""

import asyncio
import re
import sys

from mcp import Client, StdioServerParameters

KERNEL = """\
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float part[256];
  float own = 0;
  for (int i = threadIdx.x; i <= n; i += 256) own += x[i];
  part[threadIdx.x] = own;
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
"""



def barrier_before(line):
    return "    __syncthreads();\n" + line


# What to do about a line at fault, by the verdict. A read that no barrier orders comes before the write or beside it.
RULES = {
    "out_of_bounds": lambda line: line.replace("<=", "<"),
    "race": barrier_before,
    "uninitialized_read": barrier_before,
}


def mended(source, answer):
    """The source with the line changed that the first report names."""
    place = re.search(r"candidate\.cu:(\d+)", answer["reports"][0])
    lines = source.split("\n")
    at = int(place.group(1)) - 1
    lines[at] = RULES[answer["verdict"]](lines[at])
    return "\n".join(lines)


async def main(command, arguments):
    server = StdioServerParameters(command=command, args=["serve", *arguments])
    async with Client(server) as client:

        async def tool(tool_name, **given):
            result = await client.call_tool(tool_name, given)
            print(f"{tool_name}: {result.content[0].text.splitlines()[0]}")
            if result.is_error:
                sys.exit(result.content[0].text)
            return result.structured_content

        tasks = (await tool("list_tasks", text="sum of n"))["tasks"]
        task = next(one["name"] for one in tasks if one["name"] == "reduce/sum")
        described = await tool("describe_task", task=task)
        print(described["skeleton"])
        source = KERNEL
        for attempt in range(1, 6):
            answer = await tool("check", task=task, source=source, name=f"mended-{attempt}")
            if answer["passed"]:
                break
            source = mended(source, answer)
        final = await tool("submit", task=task, attempt=answer["attempt"])
        for rival in final["rivals"]:
            if "speedup" in rival:
                print(f"{rival['speedup']:.2f} times as good as {rival['name']} ({final['unit']})")
        return 0 if final["passed"] and final["recorded"] else 1


if __name__ == "__main__":
    words = sys.argv[1:] or ["perigee"]
    sys.exit(asyncio.run(main(words[0], words[1:])))
