--- What may come next on a command line: commands, options and their values, task names. All from
-- the declarations that the command line itself is parsed by, asked anew at every TAB.
-- @module perigee.complete

local catalogue = require "perigee.catalogue"

local complete = {}

local DEVICES = { "auto", "cuda:0", "sim", "sim:check", "sim:profile" }

local function sorted_keys(set, suffix)
  local names = {}
  for name in pairs(set or {}) do names[#names + 1] = name .. (suffix or "") end
  table.sort(names)
  return names
end

local function task_names()
  local names = {}
  for i, task in ipairs((catalogue.all())) do names[i] = { task.name, task:summary() } end
  return names
end

-- The first task that the words name; nil when none does.
local function task_of(words)
  for i = 2, #words - 1 do
    local ok, list = pcall(catalogue.find, words[i])
    if ok and list[1] and words[i]:find "[/.]" then return list[1] end
  end
end

local function knob_names(task)
  local set = {}
  for _, impl in ipairs(task.impls) do
    for name in pairs(type(impl.knobs) == "table" and impl.knobs or {}) do set[name] = true end
  end
  return sorted_keys(set, "=")
end

local function sweep_names(task)
  local names = {}
  for i, one in ipairs(task.sweeps) do names[i] = one.name end
  return names
end

-- Option -> the values that a task gives it.
local OF_TASK = {
  ["--set"] = function(task) return sorted_keys(task.params, "=") end,
  ["--knob"] = knob_names,
  ["--impl"] = function(task) return task:impl_names() end,
  ["--cell"] = function(task) return task:cell_names() end,
  ["--sweep"] = sweep_names,
}

local function categories()
  local set = {}
  for _, task in ipairs((catalogue.all())) do set[task.category] = true end
  return sorted_keys(set)
end

-- Values of an option; none: the shell offers files.
local function option_values(option, words)
  local name = option._aliases[#option._aliases]
  if option._choices then return option._choices end
  if name == "--device" then return DEVICES end
  if name == "--category" then return categories() end
  local task = OF_TASK[name] and task_of(words)
  return task and OF_TASK[name](task) or {}
end

local function argument_values(argument)
  if argument._choices then return argument._choices end
  if argument._name == "task" then return task_names() end
  if argument._name == "category" then return categories() end
  if argument._name == "pipeline" then return require "perigee.search".NAMES end
  return {}
end

-- Option by each of its spellings.
local function options_of(parser)
  local map = {}
  for _, option in ipairs(parser._options) do
    for _, alias in ipairs(option._aliases) do map[alias] = option end
  end
  return map
end

local function takes_value(option)
  return option and option._maxargs > 0
end

-- The argument that the last word is a part of.
local function argument_at(parser, map, words)
  local place, i = 1, 2
  while i < #words do
    if words[i]:sub(1, 1) ~= "-" then
      place = place + 1
    elseif takes_value(map[words[i]]) then
      i = i + 1
    end
    i = i + 1
  end
  for _, argument in ipairs(parser._arguments) do
    if place <= argument._maxargs then return argument end
    place = place - argument._maxargs
  end
end

local function option_names(parser)
  local list = {}
  for _, option in ipairs(parser._options) do
    if not option._hidden then
      for _, alias in ipairs(option._aliases) do
        if alias:sub(1, 2) == "--" then list[#list + 1] = { alias, option._description } end
      end
    end
  end
  return list
end

local function candidates(parser, words)
  local last, before = words[#words], words[#words - 1]
  local map = options_of(parser)
  if takes_value(map[before]) then return option_values(map[before], words) end
  if last:sub(1, 1) == "-" then return option_names(parser) end
  local argument = #words > 1 and argument_at(parser, map, words)
  return argument and argument_values(argument) or {}
end

-- The parser of the command that the words begin with; of the root while that is being typed.
local function parser_of(parser_for, words)
  local root, _, sub = parser_for(#words > 1 and words[1] or nil)
  return sub or root
end

--- Candidates for the last of the words, which may be empty.
-- @tparam function parser_for command's name or nil -> its argparse parser
-- @tparam table commands list of {name, summary}
-- @tparam table words what follows `perigee`
-- @treturn table list of {word, description or nil}; empty: a file's name is wanted
function complete.words(parser_for, commands, words)
  local list, last = {}, words[#words]
  local offered = #words == 1 and last:sub(1, 1) ~= "-" and commands
    or candidates(parser_of(parser_for, words), words)
  for _, item in ipairs(offered) do
    local word = type(item) == "table" and item[1] or item
    if word:sub(1, #last) == last then
      list[#list + 1] = { word, type(item) == "table" and item[2] or nil }
    end
  end
  return list
end

-- ---- what a shell is told ----

local SCRIPTS = {}

-- A name that ends in '=' wants a value: no space follows. ':' is a word break for readline, so
-- what stands before the last one is taken off again.
SCRIPTS.bash = [=[
# perigee completion bash; source it, or put it into
# ~/.local/share/bash-completion/completions/perigee
_perigee() {
  local line=${COMP_LINE:0:COMP_POINT} words candidate cut
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cut=${words[-1]%"${words[-1]##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    [[ $candidate == *= ]] && compopt -o nospace
    COMPREPLY+=("${candidate#"$cut"}")
  done < <("${words[0]}" completion --words "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _perigee perigee
]=]

SCRIPTS.zsh = [=[
#compdef perigee
# perigee completion zsh; put it into a folder of $fpath as _perigee
_perigee() {
  local -a spaced joined
  local candidate description
  while IFS=$'\t' read -r candidate description; do
    if [[ $candidate == *= ]]; then joined+=("$candidate")
    else spaced+=("${candidate//:/\\:}:$description"); fi
  done < <("$words[1]" completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#spaced + $#joined )); then
    (( $#spaced )) && _describe perigee spaced
    (( $#joined )) && compadd -S '' -- "${joined[@]}"
  else
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _perigee "$@"
else
  compdef _perigee perigee
fi
]=]

SCRIPTS.fish = [=[
# perigee completion fish; put it into ~/.config/fish/completions/perigee.fish
function __perigee_words
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion --words $words[2..-1] 2>/dev/null
end
complete -c perigee -f -n 'test (count (__perigee_words)) -gt 0' -a '(__perigee_words)'
]=]

--- The script for a shell: "bash", "zsh" or "fish".
function complete.script(shell)
  return SCRIPTS[shell]
end

return complete
