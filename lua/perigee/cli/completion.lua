--- `perigee completion bash|zsh|fish|man`
-- @module perigee.cli.completion

local command = {}

function command.configure(parser)
  parser:argument("kind", "what to print: completion for a shell, or the manual page perigee(1)")
    :choices { "bash", "zsh", "fish", "man" }
end

--- What the shells' scripts ask: candidates for the last word, with descriptions.
function command.words(cli, words)
  local complete = require "perigee.complete"
  if #words == 0 then words = { "" } end
  for _, item in ipairs(complete.words(cli.parser, cli.COMMANDS, words)) do
    io.stdout:write(item[1], item[2] and "\t" .. item[2]:gsub("%s+", " ") or "", "\n")
  end
  return 0
end

--- @treturn integer 0
function command.main(options)
  if options.kind == "man" then
    local cli = require "perigee.cli"
    io.stdout:write(require "perigee.manual".page(cli.parser, cli.COMMANDS))
  else
    io.stdout:write(require "perigee.complete".script(options.kind))
  end
  return 0
end

return command
