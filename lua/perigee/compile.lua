--- Compiling sources to PTX in a process of its own, and the committed PTX that stands in where
-- this machine has no compiler.
-- @module perigee.compile

local core = require "perigee.core"
local files = require "perigee.files"
local impl = require "perigee.impl"
local worker = require "perigee.worker"

local compile = {}

local DEADLINE_S = 120

--- The architecture that the simulator presents, and the guess before a GPU has been asked.
compile.DEFAULT_ARCH = "compute_90"

--- "compute_90" of a device's information.
function compile.arch_of(info)
  return ("compute_%d%d"):format(info.cc_major, info.cc_minor)
end

-- Quoted includes of a source, each file once, in order.
local function included(text, folder, list, seen)
  for name in text:gmatch('#%s*include%s*"([^"\n]+)"') do
    local path = files.join(folder, name)
    if not seen[path] and files.is_file(path) then
      seen[path] = true
      list[#list + 1] = { path = path, text = files.read(path) }
      included(list[#list].text, files.dirname(path), list, seen)
    end
  end
  return list
end

--- The files beside a source that it includes, and what those include.
-- @treturn table list of {path, text}
function compile.included(source, path)
  return included(source, files.dirname(path), {}, {})
end

--- SHA-256 of a source with the files it includes: what committed PTX was made from.
function compile.digest(source, path)
  local parts = { source }
  for i, file in ipairs(compile.included(source, path)) do parts[i + 1] = file.text end
  return core.sha256(table.concat(parts, "\0"))
end

-- The PTX committed beside a .cu file. It stands for the source without macros or options only.
local function committed(request)
  local path = request.path:gsub("%.cu$", ".ptx")
  if request.ptx then
    path = files.find(request.ptx, { files.dirname(request.path), core.home or "." })
  end
  if path == request.path or not files.is_file(path) then return nil end
  if not request.plain and not request.ptx then return nil end
  local ptx = files.read(path)
  local sha = ptx:match("source%-sha256:%s*(%x+)")
  return {
    ptx = ptx, log = "", seconds = 0, cached = true, lowered = {}, committed = files.shown(path),
    compiler = ptx:match("//%s*compiler:%s*([^\n]+)") or "committed PTX",
    stale = sha ~= nil and sha ~= compile.digest(request.source, request.path),
  }
end

--- A compiler process that loads its library ahead of need, for one `start`.
function compile.spare()
  local spare = worker.start("compiler")
  spare:post({ op = "prepare" }, DEADLINE_S)
  return spare
end

-- A spare that did not survive is no loss.
local function compiler(spare)
  if spare and spare:take() then return spare end
  return worker.start("compiler")
end

--- Start compiling. @tparam table request what impl.request returned
-- @tparam[opt] string arch "compute_90"
-- @tparam[opt] table spare what `spare` returned
-- @treturn table a job for `finish`
function compile.start(request, arch, spare)
  local job = { request = request, arch = arch or compile.DEFAULT_ARCH }
  if request.lang == "ptx" then
    job.result = { ptx = request.source, log = "", seconds = 0, cached = false, lowered = {} }
    return job
  end
  job.worker = compiler(spare)
  job.worker:post({
    op = "compile", lang = request.lang, source = request.source, name = request.name,
    arch = job.arch,
    options = core.json_array(table.move(request.options, 1, #request.options, 1, {})),
    expressions = core.json_array(table.move(request.expressions, 1, #request.expressions, 1, {})),
  }, DEADLINE_S)
  return job
end

local function failure(e)
  if e.code == "timeout" or e.code == "crashed" then
    return { code = "compile_error", message = e.message, hint = e.hint, where = e.where }
  end
  return e
end

--- Wait for a job.
-- @treturn table {ptx, log, seconds, cached, compiler, lowered, committed = path or nil, stale};
--   or nil and an error table ("compile_error" with .log, or "environment")
function compile.finish(job)
  if job.result then return job.result end
  local reply, e = job.worker:take()
  job.worker:kill()
  job.worker = nil
  if reply and reply.ok then
    job.result = reply
    return reply
  end
  e = reply and reply.error or e
  if e.code == "environment" then
    job.result = committed(job.request)
    if job.result then return job.result end
  end
  e = failure(e)
  e.log = reply and reply.log or e.log
  return nil, e
end

--- The lowered name of template instance `expression`, from the result of `finish`.
function compile.lowered(request, result, expression)
  for i, name in ipairs(request.expressions) do
    if name == expression then return result.lowered[i] end
  end
  return nil
end

--- Compile in this process, for scripts: raises on failure, the error table carries .log.
-- @tparam table how {source= or file= or path=, name=, lang=, define=, include=, options=,
--   expressions=, arch=}
function compile.here(how)
  local include = { table.unpack(how.include or {}) }
  if how.path then table.insert(include, 1, files.dirname(how.path)) end
  return core.compile {
    source = how.source, name = how.name, arch = how.arch, expressions = how.expressions or {},
    options = impl.options({ define = how.define, include = include, options = how.options },
      how.name),
    cache = how.cache ~= false,
  }
end

return compile
