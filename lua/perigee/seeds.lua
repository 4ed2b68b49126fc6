--- Seeds that candidates cannot know.
-- @module perigee.seeds

local core = require "perigee.core"

local seeds = {}

--- With how many of them each check size is judged.
seeds.CHECK = 3

--- A seed that nobody has seen: 52 bits of /dev/urandom.
-- @raise "environment" without it: a seed that can be guessed is none
function seeds.fresh()
  local file <close> = io.open("/dev/urandom", "rb")
  local bytes = file and file:read(8)
  if not bytes or #bytes < 8 then
    core.error("environment", "no random numbers from /dev/urandom",
      "seeds that can be guessed are worth nothing: let it be readable")
  end
  return (string.unpack("<I8", bytes)) & ((1 << 52) - 1)
end

return seeds
