--- The page from the data: sections of README.md, between marks, made of the CSV files of a run, so
-- that no figure is written by hand.
-- @module perigee.irregularity.page

local core = require "perigee.core"
require "perigee.irregularity.levers" -- a section of its own
require "perigee.irregularity.places" -- another
local suite = require "perigee.irregularity.suite"
local tables = require "perigee.irregularity.tables"

local page = {}

-- ---- data ----

local function fields_of(line)
  local fields = {}
  for field in (line .. ","):gmatch "([^,]*)," do fields[#fields + 1] = field end
  return fields
end

local function bad(where, message, ...)
  core.error("invalid", message:format(...), "a command's --csv writes it", where)
end

-- What a row must have: texts by which it is found, numbers, and numbers that may be missing.
local function check_row(row, columns, where)
  for _, name in ipairs(columns.by) do
    if row[name] == nil then bad(where, "there is nothing in column '%s'", name) end
  end
  for _, name in ipairs(columns.numbers or {}) do
    if type(row[name]) ~= "number" then bad(where, "there is no number in column '%s'", name) end
  end
  for _, name in ipairs(columns.maybe or {}) do
    if type(row[name]) == "string" then bad(where, "'%s' is no number (%s)", row[name], name) end
  end
end

local function row_of(head, fields)
  local row = {}
  for i, name in ipairs(head) do
    if fields[i] ~= "" then row[name] = tonumber(fields[i]) or fields[i] end
  end
  return row
end

--- The rows of a CSV file.
-- @tparam string path
-- @tparam[opt] table columns what each row must have: {by = names of texts, numbers = names, maybe
--   = names of numbers that may be missing}
-- @treturn table|nil list of {column = text or number}; nil: no file
-- @raise "invalid", with the line, for a row that has not
function page.read_csv(path, columns)
  local text = core.read_file(path)
  if not text then return nil end
  local head, rows, number = nil, {}, 0
  for line in text:gmatch "([^\n]*)\n?" do
    number = number + 1
    local fields = line:find "%S" and fields_of((line:gsub("\r$", "")))
    if fields and head then
      local row = row_of(head, fields)
      if columns then check_row(row, columns, ("%s:%d"):format(path, number)) end
      rows[#rows + 1] = row
    end
    head = head or fields
  end
  if columns and #rows == 0 then bad(path, "there are no rows") end
  return rows
end

--- Rows by what identifies them.
-- @tparam table rows
-- @param ... names of columns
-- @treturn table rows, with `find(values...)` -> row or nil
function page.indexed(rows, ...)
  local columns, by_key = { ... }, {}
  local function key_of(values) return table.concat(values, " ") end
  for _, row in ipairs(rows) do
    local values = {}
    for i, name in ipairs(columns) do values[i] = tostring(row[name]) end
    by_key[key_of(values)] = row
  end
  return { rows = rows, find = function(...) return by_key[key_of { ... }] end }
end

-- ---- what the page says in short ----

local sections = tables.sections

local WIDTH = 140

-- A paragraph in lines, those after the first indented.
local function wrapped(text, indent)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = indent .. word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- Least and most ratio of some arms over the large cells, as "0.95 to 1.04"; nil without any.
local function range_of(data, ...)
  local least, most = math.huge, -math.huge
  for _, one in ipairs { ... } do
    local of = tables.ratios_of(data, one[1], one[2])
    if not of.middle then return nil end
    least, most = math.min(least, of.low), math.max(most, of.high)
  end
  local digits = most >= 2 and "%.1f to %.1f" or "%.2f to %.2f"
  return digits:format(least, most), most
end

-- The plain CUDA C++ arm over the published one, in the large cells: "0.76 to 0.86".
local function beside_published(data)
  local ratios = {}
  for _, row in ipairs(data.published and data.published.rows or {}) do
    local theirs = data.figures[("%s cuda %s"):format(row.cell, row.stage)]
    if row.stage == "allocate" and row.arm == "cuda-no-wait" and tables.is_large(row.cell)
      and row.median_us and theirs then
      ratios[#ratios + 1] = row.median_us / theirs
    end
  end
  local middle, low, high = suite.spread(ratios)
  return middle and ("%.2f to %.2f"):format(low, high)
end

local RUST = { { "allocate", "rust" }, { "allocate", "rust-ray" }, { "allocate", "rust-split" },
  { "allocate", "rust-late" }, { "update", "rust" }, { "update", "rust-ray" },
  { "update", "rust-warp" }, { "update", "rust-split" } }

--- What sentences are made of: everything that they may name.
function page.figures(data)
  local s = data.suite
  local function us(stage, cell, arm)
    return tables.us((s.find(stage, cell, arm) or {}).median_us)
  end
  local function part(stage, cell, cause) return tables.cause_of(data, stage, cell, cause) or {} end
  local function factor(cell)
    local one = s.find("allocate", cell, "cuda")
    return ("%.1f"):format(one and one.of_control or 0)
  end
  local function ratio(...)
    local one = s.find(...)
    return one and one.ratio and ("%.1f"):format(one.ratio)
  end
  local function share(...) return ("%.0f%%"):format(100 * (part(...).share or 0)) end
  local _, triton_most = range_of(s, { "allocate", "triton" })
  return {
    plain = us("allocate", "base", "cuda"), control = us("allocate_regular", "base", "cuda"),
    factor = factor "base", dense = factor "pts-1280k", far = factor "r-2.0",
    waiting = tables.us(part("allocate", "base", "waiting").us),
    claims = tables.us(part("allocate", "base", "claims").us),
    probing = tables.us(part("allocate", "base", "probing").us),
    update = us("update", "base", "cuda"), collide = share("update", "base", "collisions"),
    scattered = share("update", "base", "sectors"), large = share("update", "r-2.0", "sectors"),
    rust = range_of(s, table.unpack(RUST)),
    late = range_of(s, { "allocate", "triton-late" }),
    triton_most = ("%.2f"):format(triton_most or 0),
    summed = range_of(s, { "update", "triton" }, { "update", "triton-warp" }),
    stencil = ratio("stencil27", "base", "triton"),
    published = range_of(s, { "allocate", "triton-published" }), opponent = beside_published(data),
    looks = us("allocate", "base", "cuda-late"), warp = us("update", "base", "cuda-warp"),
    fused = us("fuse", "base", "cuda"),
    own = tables.us((tables.best_of(s, "fuse", "base", tables.OWN) or {}).median_us),
  }
end

-- A template's $names from figures; $% is no name. Nothing where a figure is missing.
local function said(template, figures)
  local missing
  local text = template:gsub("%$(%l[%l_]*)", function(name)
    missing = missing or not figures[name] or figures[name] == ""
    return figures[name] or ""
  end)
  return not missing and text or nil
end

local SHORT = {
  [[- Plain CUDA C++ needs $plain us for `allocate`. Its regular control, the same walk that marks a
  dense grid, needs $control us, so irregularity costs a factor of $factor (pts-1280k: $dense,
  r-2.0: $far). It is **waiting** for a block that another thread is just making ($waiting us),
  **claims** of empty entries ($claims us) and **probing** ($probing us). Divergence and uncoalesced
  loads, the usual suspects, cost nothing that can be measured: neighbouring rays want the same
  blocks.]],
  [[- `update` is called regular, and irregularity is dearest there: of $update us **$collide are
  collisions**, lanes of a warp that add to the same voxel, and $scattered that the additions are
  scattered. Finding the block costs nothing there. On a volume larger than the L2 cache (`r-2.0`)
  it is scattered additions: $large of the time.]],
  [[- **The language's share is small** ([figures](#which-share-is-the-languages)). With the same
  levers, in the cells of 320,000 points and more, Rust takes $rust times as long as CUDA C++;
  Triton $late times in `allocate`, where it cannot branch by lane (`triton-late`; without PTX of
  its own up to $triton_most), and $summed times in `update`
  ([how certain that is](#what-a-ratio-is-worth)). CUDA C++ is no weak opponent
  there: its plain arm without waits takes $opponent times as long as the published CUDA C++
  ([figures](#beside-the-published-figures)).
  The published Triton program takes $published
  times as long as plain CUDA C++ here too, and loses blocks where the table is half full: it makes
  an atomic where a load would do. That is the program. Where a language does cost is one of the
  [later stages](#later-stages): `stencil27` in Triton, $stencil times on base, for it has no shared
  memory that lanes index.]],
  [[- **Levers are worth more than languages**: to look before asking, skip what the ray has just
  asked for, and send one insert for each block of a warp, takes `allocate` from $plain to $looks
  us; to add up within the warp first takes `update` from $update to $warp us; both, and sums in a
  layout of their own, take `fuse` from $fused to $own us.]],
}

--- The page in short.
function sections.short(data)
  if not (data.suite and data.causes) then return nil end
  local figures, list = page.figures(data), {}
  for _, template in ipairs(SHORT) do
    local text = said(template, figures)
    if text then list[#list + 1] = wrapped(text, "  ") end
  end
  return #list == #SHORT and table.concat(list, "\n") or nil
end

local FRONT = [[The main benchmark's question, for CUDA C++, Rust and Triton.
[The answer](kernels/tsdf/README.md), measured on an H200, judged, and reproducible by one command
(`perigee kernels/tsdf/irregularity.lua`): filling a hash table from 320,000 rays takes $plain us
where a program without a table takes $control. Waiting for blocks that other threads are making,
claiming them, and probing cost $waiting, $claims and $probing us; divergence and uncoalesced loads
nothing measurable. The sums that follow, called regular, take $update us, $collide of it because
lanes of a warp add to one address. The language's share is small: with the same levers Rust takes
$rust times as long as CUDA C++, Triton $late times in the irregular stage (without PTX of its own
up to $triton_most) and $summed in the other. The factor of 11 to 32 that is published for Triton
is its program's, which asks an atomic where a load would do. Levers are worth more than languages:
$looks us in place of $plain, and $warp in place of $update.]]

--- The paragraph on the first page of the project.
function sections.front(data)
  if not (data.suite and data.causes) then return nil end
  local text = said(FRONT, page.figures(data))
  return text and wrapped(text, "")
end

-- ---- filling in ----

--- Fill the sections of a text in: what stands between `<!-- data: NAME -->` and `<!-- end -->`. A
-- section of which there is no data stays as it is.
-- @tparam string text
-- @tparam table data {suite, published, eight, causes, data, levers, hash = of `indexed`, or nil;
--   figures}
-- @treturn string text
-- @treturn table names of sections that were filled in
-- @raise "not_found" for a section that nothing makes
function page.fill(text, data)
  local filled = {}
  local new = text:gsub("(<!%-%- data: ([%w_]+) %-%->\n)(.-)(<!%-%- end %-%->)",
    function(open, name, old, close)
      local make = sections[name] or core.error("not_found", ("no section '%s'"):format(name))
      local made = make(data)
      if made then filled[#filled + 1] = name end
      return open .. (made and "\n" .. made .. "\n\n" or old) .. close
    end)
  return new, filled
end

return page
