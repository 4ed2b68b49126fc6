-- `perigee repro`: a record is run again from what it stores, whatever became of the files since.
-- And what a record says of itself for that. The task is in tests/tune.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local sources = require "perigee.sources"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")

local function shell(command)
  local pipe <close> = io.popen(("bash -c '%s' 2>&1"):format(command:gsub("'", "'\\''")))
  local text = pipe:read("a")
  local _, _, status = pipe:close()
  return text, status
end

local folder = shell("mktemp -d"):match("%S+")

local function perigee(arguments)
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  return shell(("'%s' %s"):format(BINARY, arguments))
end

-- A copy of the task that may be changed.
local count = 0
local function copy()
  count = count + 1
  local place = ("%s/%d"):format(folder, count)
  shell(("mkdir -p %s && cp tests/tune/scale.* %s"):format(place, place))
  return place
end

TestSources = {}

function TestSources:test_a_bundle_of_a_stranger_has_no_file_of_the_host()
  local place, names = copy(), {}
  shell(("mkdir -p %s/mine && ln -s ../scale.lua %s/mine/link.h"):format(place, place))
  core.write_file(place .. "/mine/own.h", "// own\n")
  core.write_file(place .. "/mine/a.cu",
    '#include "/etc/passwd"\n#include "../scale.lua"\n#include "link.h"\n#include "own.h"\n')
  for _, one in ipairs { { lang = "cuda", path = place .. "/mine/a.cu" },
    { is_data = true, path = place .. "/mine/a.cu", where = place .. "/mine/plan.lua" } } do
    for i, file in ipairs(sources.of(one)) do names[i] = file.name end
    lu.assertEquals(names, { "a.cu", "own.h" })
  end
end

function TestSources:test_a_bundle_has_the_files_beside_the_source()
  local place = copy()
  shell(("mkdir -p %s/kernels %s/common"):format(place, place))
  core.write_file(place .. "/kernels/a.cu", '#include "../common/b.cuh"\n#include <c.h>\n')
  core.write_file(place .. "/common/b.cuh", '#include "d.cuh"\n')
  core.write_file(place .. "/common/d.cuh", "// d\n")
  local bundle = sources.of { lang = "cuda", path = place .. "/kernels/a.cu", root = place }
  local names = {}
  for i, file in ipairs(bundle) do names[i] = file.name end
  lu.assertEquals(names, { "kernels/a.cu", "common/b.cuh", "common/d.cuh" })
  lu.assertEquals(bundle[3].text, "// d\n")
  lu.assertEquals(bundle[3].sha, core.sha256("// d\n"))
  local main = sources.write(bundle, place .. "/out")
  lu.assertEquals(main, place .. "/out/kernels/a.cu")
  lu.assertEquals(core.read_file(place .. "/out/common/d.cuh"), "// d\n")
  files.remove(place .. "/out")
  lu.assertNil(core.file_info(place .. "/out"))
end

function TestSources:test_no_file_is_written_outside_the_folder()
  for _, name in ipairs { "../x.cu", "/tmp/x.cu", "a/../../x.cu", "", "." } do
    local ok, e = pcall(sources.write, { { name = name, text = "x" } }, folder .. "/inside")
    lu.assertFalse(ok, name)
    lu.assertStrContains(e.message, "outside its folder")
  end
end

TestRepro = {}

function TestRepro:test_the_stored_source_is_run_though_the_file_has_changed()
  local place = copy()
  local record, db = place .. "/r.jsonl", place .. "/r.db"
  perigee(("run %s/scale.lua --device sim:profile --knob UNROLL=4 --json --full --db %s > %s")
    :format(place, db, record))
  shell(("sed -i 's/a \\* x/0 * x/' %s/scale.cu"):format(place))
  local text, status = perigee(("run %s/scale.lua --device sim"):format(place))
  lu.assertEquals(status, 1, text) -- the file is wrong by now
  for _, name in ipairs { record, "1 --db " .. db, record .. ":1" } do
    text, status = perigee("repro " .. name)
    lu.assertEquals(status, 0, text)
    lu.assertStrContains(text, "tune/scale, naive: passed, then passed")
    lu.assertStrContains(text, "BLOCK=256 UNROLL=4")
    lu.assertStrContains(text, "now   1,216 instructions")
    lu.assertStrContains(text, "change +0.00 %")
  end
end

function TestRepro:test_a_failure_fails_again_at_the_same_place()
  local place = copy()
  local record = place .. "/r.jsonl"
  perigee(("run %s/scale.lua --device sim --knob BLOCK=96 --knob UNROLL=4 --json --full > %s")
    :format(place, record))
  local old = core.json_decode(core.read_file(record))
  local text, status = perigee(("repro %s --json"):format(record))
  local new = core.json_decode(text)
  lu.assertEquals(status, 0)
  lu.assertEquals({ new.verdict, new.reason }, { "wrong_result", old.reason }) -- the same inputs
  lu.assertEquals(new.input_seed, old.input_seed)
  lu.assertEquals(new.plan, old.plan)
end

function TestRepro:test_the_stored_plan_is_run()
  local place = copy()
  local record = place .. "/r.jsonl"
  perigee(("run %s/scale.lua --device sim:profile --json --full > %s"):format(place, record))
  shell(("sed -i 's/p.BLOCK \\* p.UNROLL)/p.BLOCK * p.UNROLL) * 2/' %s/scale.lua"):format(place))
  local text, status = perigee("repro " .. record)
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "the stored plan was run")
  lu.assertStrContains(text, "change +0.00 %")
end

function TestRepro:test_a_checked_candidate_is_checked_again()
  local place = copy()
  local record = place .. "/r.jsonl"
  perigee(("check %s/scale.lua %s/scale.cu --device sim --set n=77 --json --full > %s"):format(
    place, place, record))
  shell(("rm %s/scale.cu"):format(place))
  local text, status = perigee(("repro %s --json"):format(record))
  local old, new = core.json_decode(core.read_file(record)), core.json_decode(text)
  lu.assertEquals(status, 0, text)
  lu.assertEquals({ new.kind, new.cases, new.params.n }, { "check", old.cases, 77 })
end

function TestRepro:test_a_plain_line_needs_the_file_or_the_store()
  local place = copy()
  local record = place .. "/r.jsonl"
  perigee(("run %s/scale.lua --device sim --json --db %s/r.db > %s"):format(place, place, record))
  lu.assertNil(core.json_decode(core.read_file(record)).source_texts)
  local _, status = perigee("repro " .. record) -- the file is as it was
  lu.assertEquals(status, 0)
  shell(("echo '// changed' >> %s/scale.cu"):format(place))
  local text
  text, status = perigee(("repro %s --db %s/none.db"):format(record, place))
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "the text of scale.cu is not in the record")
  _, status = perigee(("repro %s --db %s/r.db"):format(record, place))
  lu.assertEquals(status, 0)
end

function TestRepro:test_bad_records_are_refused()
  local place = copy()
  local record = place .. "/r.jsonl"
  perigee(("run %s/scale.lua --device sim --json --full > %s"):format(place, record))
  local good = core.read_file(record)
  local function refused(text, name, ...)
    core.write_file(record, text)
    local said, status = perigee(("repro %s --db %s/none.db"):format(name, place))
    lu.assertEquals(status, 2, said)
    for _, part in ipairs { ... } do lu.assertStrContains(said, part) end
  end
  refused(good .. good, record, "has 2 records", "r.jsonl:1")
  refused(good, record .. ":7", "no record in line 7", "the file has 1 records")
  refused("", record, "has 0 records")
  refused("{", record, "no JSON", "r.jsonl:1")
  refused(good:gsub("UNROLL 1", "UNROLL 2"), record, "is not the one that was run")
  refused(good:gsub('"name":"scale.cu"', '"name":"../../scale.cu"'), record, "outside its folder")
  refused(good:gsub('"task":"tune/scale"', '"task":"tune/scales"'):gsub('"task_file":"[^"]*",', ""),
    record, "unknown task")
  refused(good:gsub('"input_seed":%d+,', ""), record, "no seed of its inputs")
  refused(good, "12", "no results store")
  refused(good, place .. "/nothing.jsonl", "no file")
end

local status = lu.LuaUnit.run()
shell("rm -rf " .. folder)
os.exit(status)
