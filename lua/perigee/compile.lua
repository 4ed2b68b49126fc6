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

-- Quoted includes of a source, each file once, in order: those below one of two `roots`, as the
-- compiler may read no others.
local function included(text, folder, roots, list, seen)
  for name in text:gmatch('#%s*include%s*"([^"\n]+)"') do
    local path = files.join(folder, name)
    if not seen[path] and (files.lies_in(path, roots[1]) or files.lies_in(path, roots[2])) then
      seen[path] = true
      list[#list + 1] = { path = path, text = files.read(path) }
      included(list[#list].text, files.dirname(path), roots, list, seen)
    end
  end
  return list
end

--- The files that a source includes, and what those include: below its folder or below `root`.
-- @tparam string source
-- @tparam string path of it
-- @tparam[opt] string root
-- @treturn table list of {path, text}
function compile.included(source, path, root)
  local folder = files.dirname(path)
  return included(source, folder, { folder, root or folder }, {}, {})
end

-- Languages whose compilers are programs of their own.
local function tool_of(lang)
  return (lang == "rust" or lang == "triton") and require("perigee.lang." .. lang) or nil
end

--- The files beside a source that belong to it: what it includes, or its modules.
-- @treturn table list of {path, text}
function compile.beside(source, path, lang, root)
  local tool = tool_of(lang)
  if not tool then return lang == "cuda" and compile.included(source, path, root) or {} end
  local list = {}
  for _, file in ipairs(tool.sources(source, path)) do
    local where = files.join(files.dirname(path), file.name)
    if file.name ~= files.basename(path) then
      list[#list + 1] = { path = where, text = file.text }
    end
  end
  return list
end

--- SHA-256 of a source with the files it includes: what committed PTX was made from.
function compile.digest(source, path)
  local tool = tool_of(impl.LANGUAGES[files.extension(path)])
  local files_of = tool and tool.sources(source, path) or compile.included(source, path)
  local parts = tool and {} or { source }
  for _, file in ipairs(files_of) do parts[#parts + 1] = file.text end
  if tool and tool.device_crate then parts[#parts + 1] = tool.device_crate() end
  return core.sha256(table.concat(parts, "\0"))
end

--- Where the PTX of a source is committed: "a.ptx" for a.cu, "a.rs.ptx" for a.rs, and for a.py one
-- an architecture, "a.py.sm_80.ptx" and "a.py.sm_90.ptx".
function compile.committed_path(path, arch)
  local extension = files.extension(path)
  if extension == "cu" then return (path:gsub("%.cu$", ".ptx")) end
  if extension == "py" then
    return ("%s.%s.ptx"):format(path, arch == "compute_90" and "sm_90" or "sm_80")
  end
  return path .. ".ptx"
end

-- The PTX committed beside a source. It stands for the source without macros or options only, and
-- for a stranger's source not at all, as who wrote that may have written the PTX, too.
local function committed(request, arch)
  local ours = files.join(core.home or ".", "kernels")
  if request.foreign and not files.lies_in(request.path, ours) then return nil end
  local path = compile.committed_path(request.path, arch)
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

-- Post a job to the compiler of a language that has a program of its own. PTX that was made of the
-- very same source is as good, and there at once.
local function start_tool(job, tool, progress)
  local ready = not job.request.anew and committed(job.request, job.arch)
  if ready and not ready.stale then
    job.result = ready
    return job
  end
  local request, e = tool.tool(job.request, job.arch, progress)
  if not request then
    job.error = e
    return job
  end
  request.trust = not job.request.foreign
  job.worker, job.tool, job.since = worker.start("compiler"), tool, core.now()
  job.worker:post(request, job.request.limit_s or DEADLINE_S)
  return job
end

--- Start compiling.
-- @tparam table request what impl.request returned, and limit_s = seconds it may take (120)
-- @tparam[opt] string arch "compute_90"
-- @tparam[opt] table spare what `spare` returned
-- @tparam[opt] function progress called with a text before something long
-- @treturn table a job for `finish`
function compile.start(request, arch, spare, progress)
  local job = { request = request, arch = arch or compile.DEFAULT_ARCH }
  local tool = tool_of(request.lang)
  if tool then return start_tool(job, tool, progress) end
  if request.lang == "ptx" then
    job.result = { ptx = request.source, log = "", seconds = 0, cached = false, lowered = {} }
    return job
  end
  job.worker = compiler(spare)
  job.worker:post({
    op = "compile", lang = request.lang, source = request.source, name = request.name,
    arch = job.arch, reach = core.json_array { request.root },
    options = core.json_array(table.move(request.options, 1, #request.options, 1, {})),
    expressions = core.json_array(table.move(request.expressions, 1, #request.expressions, 1, {})),
  }, request.limit_s or DEADLINE_S)
  return job
end

local function failure(e, request)
  if e.code == "timeout" then
    e.hint = ("a compilation may take %g s; --timeout S gives it S seconds"):format(
      request.limit_s or DEADLINE_S)
  end
  if e.code == "timeout" or e.code == "crashed" then
    return { code = "compile_error", message = e.message, hint = e.hint, where = e.where }
  end
  return e
end

-- The reply to a job, or nil and an error table.
local function reply_of(job)
  if job.error then return nil, job.error end
  local reply, e = job.worker:take()
  job.worker:kill()
  job.worker = nil
  if not reply then return nil, e end
  if not reply.ok then
    reply.error.log = reply.error.log or reply.log
    return nil, reply.error
  end
  if not job.tool then return reply end
  local result
  result, e = job.tool.result(reply)
  if result then
    result.seconds, result.cached = core.now() - job.since, false
    result.sandbox = reply.sandbox
  end
  return result, e
end

--- Wait for a job.
-- @treturn table {ptx, log, seconds, cached, compiler, lowered, committed = path or nil, stale,
--   sandbox = names of the restrictions that the compiler had};
--   or nil and an error table ("compile_error" with .log, or "environment")
function compile.finish(job)
  if job.result then return job.result end
  local reply, e = reply_of(job)
  job.result = reply
  if reply then return reply end
  if e.code == "environment" then
    job.result = committed(job.request, job.arch)
    if job.result then return job.result end
  end
  return nil, failure(e, job.request)
end

--- Triton's argument map at the head of a PTX text: kernel -> {args, num_warps, shared, grid}; nil
-- for other PTX.
function compile.argument_map(ptx)
  if not ptx:sub(1, 4096):find("// triton: ", 1, true) then return nil end
  return require("perigee.lang.triton").map_of(ptx)
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
