--- `perigee serve`: a server of the Model Context Protocol on standard input and output.
-- @module perigee.cli.serve

local core = require "perigee.core"
local common = require "perigee.cli.common"

local serve = {}

function serve.configure(parser)
  parser:option("--device",
    "cuda:N, sim or sim:check (default: the first GPU, else sim:check)")
    :argname("D"):default("auto"):show_default(false)
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
  parser:option("--session", "name of the session in the store (default: a new one)")
    :argname("NAME")
  parser:flag("--share", "attempts of every session in the store may be read and sent again")
  parser:option("--against", "compare with these implementations of a task, too (always: naive, "
    .. "expert)"):argname("A,B")
  parser:option("--attempts", "a session may have at most N; then one of them can be submitted")
    :argname("N"):convert(common.count("--attempts"))
  parser:option("--timeout", "seconds a kernel may run"):argname("S"):default("20")
    :convert(common.positive("--timeout"))
  parser:option("--limit", "seconds a call of a tool may take"):argname("S"):default("300")
    :convert(common.positive("--limit"))
  parser:option("--memory", "GiB that a call may hold (default: three quarters of what is free)")
    :argname("GIB"):convert(common.positive("--memory"))
  common.trust(parser)
end

-- What no tool could be called with is said now, as far as no device and no store need be opened.
local function check(options, path, against)
  if options.device ~= "auto" then require("perigee.device").spec(options.device) end
  if against then
    require("perigee.rivals").check(against, require("perigee.catalogue").all())
  end
  local files = require "perigee.files"
  if files.is_folder(path) then
    core.error("invalid", "--db: a folder is no results store", "name a file in it", path)
  end
end

--- @treturn integer exit status
function serve.main(options)
  local path = require("perigee.store").path(options.db)
  local against = common.names({ options.against }, "--against")
  check(options, path, against)
  require("perigee.serve.server").run {
    device = options.device, db = path, timeout = options.timeout, limit = options.limit,
    session = options.session or ("serve-%s-%d"):format(core.utc():gsub("%D", ""), core.getpid()),
    against = against, attempts = options.attempts,
    share = options.share, memory = options.memory, trust = options.trust,
  }
  return 0
end

return serve
