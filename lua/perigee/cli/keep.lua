--- Keeping the records of a command in the results store, when --db or $PERIGEE_DB names one.
-- @module perigee.cli.keep

local core = require "perigee.core"

local Keeper = {}
Keeper.__index = Keeper
Keeper.__close = function(self) self:close() end

local keep = {}

--- Options of a command whose records may be kept.
function keep.configure(parser)
  parser:option("--db", "keep the records in this results store (default: $PERIGEE_DB, else none)")
    :argname("FILE")
  parser:option("--session", "name of the session in the store (default: a new one)")
    :argname("NAME")
  parser:flag("--full", "with --json: source texts and samples in each record")
end

--- A keeper for parsed options; it keeps nothing when no store is named.
-- @tparam table options
-- @tparam string kind "run" or "check"
-- @raise "environment" when the store cannot be opened
function keep.open(options, kind)
  local self = setmetatable({ full = options.full }, Keeper)
  local store = require "perigee.store"
  local path, asked = store.path(options.db)
  if not asked then return self end
  self.store = store.open(path)
  if options.session then
    self.session, self.name = self.store:session(options.session, kind), options.session
  else
    local made = self.store:new_session(kind .. "-" .. core.utc():gsub("%D", ""), kind)
    self.session, self.name = made.id, made.name
  end
  return self
end

--- Keep a record. What cannot be kept is said once, on standard error, and is printed all the same.
function Keeper:add(rec, extra)
  if not self.session or self.problem then return end
  local ok, e = pcall(self.store.add, self.store, self.session, rec, extra)
  if ok then return end
  self.problem = e
  io.stderr:write(("perigee: records are no longer stored: %s\n"):format(tostring(e)))
end

--- The record as --json prints it.
function Keeper:shown(rec, extra)
  if not self.full then return rec end
  return require("perigee.store").whole(rec, extra)
end

--- The exit status with what could not be kept: the environment lacks something.
function Keeper:status(status)
  if self.problem and status == 0 then return 3 end
  return status
end

function Keeper:close()
  if self.store then self.store:close() end
  self.store = nil
end

return keep
