--- Prompts: how an agent works on a task in each of the three settings. The list is declared here;
-- the texts are made by the desk, which knows the tasks.
-- @module perigee.serve.prompts

local core = require "perigee.core"

local prompts = {}

local TASK = { name = "task", description = "name of a task, see list_tasks", required = true }

--- In the order in which they are listed.
prompts.LIST = core.json_array {
  { name = "oneshot", title = "One attempt",
    description = "Write a kernel for a task in one answer, without tools.",
    arguments = core.json_array { TASK } },
  { name = "refine", title = "Refine an attempt",
    description = "Mend or speed up an attempt by what was said of it.",
    arguments = core.json_array { TASK, { name = "attempt", required = true,
      description = "number of the attempt that is to be improved" } } },
  { name = "tools", title = "Work with the tools",
    description = "Write, check, profile and submit a kernel with the tools of this server.",
    arguments = core.json_array { TASK } },
}

local ANSWER = "Answer with the source of the file alone, in one fenced block."
local RULES = "It must be right for every size and every input that the contract allows, then as "
  .. "fast as possible. Constants for one size, kept results and skipped work are found and fail."

local TEXTS = {
  oneshot = function(described)
    return ("Write a kernel for this task. %s\n\n%s\n\n%s"):format(RULES, described, ANSWER)
  end,
  refine = function(described, attempt)
    return ("Improve this attempt at a task. %s\n\n%s\n\nThe attempt:\n\n%s\n\n%s"):format(RULES,
      described, attempt, ANSWER)
  end,
  tools = function(described)
    return ("Write a kernel for this task with the tools at hand. %s\n\n%s\n\nThe way: compile, "
      .. "then check until it passes (a failure names elements, cases and lines), time to see "
      .. "how far it is from naive, the best and the limit, profile to learn why, diff to see what "
      .. "a change brought. When nothing more is gained: submit the best attempt by its number.")
      :format(RULES, described)
  end,
}

--- The prompt of that name as text.
-- @tparam string name
-- @tparam string described the task in words
-- @tparam[opt] string attempt an attempt in words
function prompts.text(name, described, attempt)
  return TEXTS[name](described, attempt)
end

--- A prompt by its name, or nil; and the names.
function prompts.find(name)
  local names = {}
  for i, one in ipairs(prompts.LIST) do
    names[i] = one.name
    if one.name == name then return one, names end
  end
  return nil, names
end

return prompts
