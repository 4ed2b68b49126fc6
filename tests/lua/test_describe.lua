-- What `describe` says: shapes in terms of parameters, figures at the default size, the contract of
-- a variant; for every task of the catalogue a text of 100 columns and a skeleton that compiles.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local describe = require "perigee.describe"
local describe_text = require "perigee.describe_text"

local function task(fields)
  local declared = {
    name = "t/x", doc = "First line.\nSecond line.",
    params = {
      rows = { default = 1000, check = { 3, 5 }, sim = 7, max = "2 * cols" },
      cols = { default = 2000, check = { 4, 9 }, sim = 8 },
      dtype = { default = "f32", choices = { "f32", "f16" }, variant = true },
    },
    inputs = function(p, rng) return { x = rng:array(p.dtype, { p.rows, p.cols, 3 }) } end,
    state = function(p)
      return { s = pg.spec("i32", p.rows + 1, "empty"), d = pg.spec("f64", 3 * p.rows) }
    end,
    outputs = function(p)
      return { y = pg.spec(p.dtype, p.rows * p.cols), odd = pg.spec("u8", p.rows // 2) }
    end,
    kernel = { [[void k(const {dtype}* x, int* s, {dtype}* y, unsigned char* odd, int rows,
      float t)]], "void other(const {dtype}* x)" },
    args = function(p) return { t = p.rows / 2, triple = 3 * p.rows } end,
    launch = function(p)
      return { { memset = "s", byte = 1 }, { grid = { p.rows, 2 }, block = 64, shared = 32 } }
    end,
    reference = function(p)
      return { y = pg.array("f64", p.rows * p.cols), odd = pg.array("f64", p.rows // 2) }
    end,
    validate = { "close", rtol = 0.5 },
    work = function(p) return { bytes = 8 * p.rows } end,
    own_layout = fields and fields.own_layout,
  }
  return pg.task(declared)
end

TestDescribe = {}

function TestDescribe:test_shapes_have_the_names_of_parameters()
  local d = describe.table(task())
  local shapes = {}
  for _, b in ipairs(d.buffers) do shapes[b.name] = { table.concat(b.shape, ", "), b.bytes } end
  lu.assertEquals(shapes.x, { "rows, cols, 3", 1000 * 2000 * 3 * 4 })
  lu.assertEquals(shapes.s, { "rows + 1", 1001 * 4 })
  lu.assertEquals(shapes.d, { "triple", 3000 * 8 }) -- a scalar of args
  lu.assertEquals(shapes.y, { "cols * rows", 1000 * 2000 * 4 })
  lu.assertEquals(shapes.odd, { "3" }) -- rows // 2 at the simulator's size: it has no name
end

function TestDescribe:test_figures_are_those_of_the_default_size()
  local d = describe.table(task())
  lu.assertEquals(d.launch, { "set s to bytes 0x01", "k<<<(1000, 2), 64>>> with 32 bytes of shared "
    .. "memory" })
  lu.assertEquals(d.scalars[2], { name = "t", type = "float", value = 500.0 })
  lu.assertEquals(d.work.bytes, 8000)
  lu.assertEquals(d.checks, { sizes = 2, seeds = 3, families = {}, also = {}, cases = 7 })
end

function TestDescribe:test_the_contract_is_of_what_is_launched_and_of_the_variant_that_is_set()
  local d = describe.table(task(), { dtype = "f16" })
  lu.assertEquals(#d.kernel, 1)
  lu.assertStrContains(d.kernel[1], "const __half* x")
  lu.assertStrContains(d.skeleton, "#include <cuda_fp16.h>")
  lu.assertNotStrContains(d.skeleton, "other")
  lu.assertEquals(d.check, "perigee check t/x FILE.cu --set dtype=f16")
  lu.assertEquals(d.buffers[1].dtype, "f16")
end

function TestDescribe:test_own_layouts_are_named_where_the_task_allows_them()
  lu.assertNotStrContains(table.concat(describe.table(task()).candidates), "export")
  local d = describe.table(task { own_layout = { "y" } })
  lu.assertStrContains(table.concat(d.candidates, "\n"), "may write y from what the candidate kept")
  lu.assertEquals(d.own_layout, { "y" })
end

function TestDescribe:test_a_limit_that_depends_on_a_parameter()
  local t = task()
  local ok, e = pcall(t.resolve, t, { purpose = "sim", set = { rows = 17 } })
  lu.assertFalse(ok)
  lu.assertEquals(e.message, "parameter rows = 17 is out of range")
  lu.assertEquals(e.hint, "expected at most 2 * cols = 16")
  lu.assertEquals(describe.table(t).params[3].range, "at most 2 * cols")
end

TestCatalogue = {}

function TestCatalogue:test_every_description_fits_and_encodes()
  local tasks = catalogue.all()
  lu.assertTrue(#tasks >= 4)
  for _, one in ipairs(tasks) do
    local in_doc = true
    describe_text.print(one, function(line)
      in_doc = in_doc and not line:match("^Contract")
      for part in (line .. "\n"):gmatch("([^\n]*)\n") do
        lu.assertTrue(in_doc or (utf8.len(part) or #part) <= 102, one.name .. ": " .. part)
      end
    end)
    lu.assertEquals(core.json_decode(core.json_encode(describe.table(one))).name, one.name)
  end
end

function TestCatalogue:test_every_skeleton_compiles()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local dev = pg.device "sim"
  for _, one in ipairs(catalogue.all()) do
    local d = describe.table(one)
    local mod = dev:compile { name = "skeleton.cu", source = d.skeleton }
    for _, parsed in ipairs(one:contract(one:resolve { purpose = "sim" })) do
      if d.skeleton:find("void " .. parsed.name .. "(", 1, true) then
        lu.assertNotNil(mod:kernel(parsed.name), one.name)
      end
    end
  end
end

os.exit(lu.LuaUnit.run())
