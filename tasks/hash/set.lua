--- hash/insert, hash/find, hash/count: a hash table of 64-bit keys, filled, searched, counted.

local pg = require "perigee"
local keyset = require "hash.keyset"

local TABLE = [==[
A table has slots u64 words; an empty one has all bits set, and no key does. Where a key may stand
says probing, with 32-bit hashes h1 = (key * 0x9e3779b97f4a7c15) >> 32 and
h2 = ((key ^ key >> 29) * 0xd1342543de82ef95) >> 32, products modulo 2^64:
  linear   slot h1 * slots >> 32, or one behind it when all from there on are taken
  bucket   buckets of 4 slots: any slot of bucket h1 * (slots / 4) >> 32, or of one behind it when
           all buckets from there on are full
  cuckoo   any slot of bucket h1 * (slots / 4) >> 32 or bucket h2 * (slots / 4) >> 32
Behind the last comes the first. slots is a multiple of 4, and load is the share of them that is
taken in the end.]==]

local KEYS = [==[
Keys uniform: all different. Keys duplicates: n / 8 different ones, each about 8 times. Keys zipf:
n / 8 different ones, each once, and the rest drawn so that the k-th has a probability of nearly
1 / k; the first makes up about 4%. Keys look random, and come in random order.]==]

-- Keys that occur several times cannot be inserted into a cuckoo table while others move in it.
local function kind(p) return p.unique and "uniform" or p.keys end

local function derive(name)
  return function(p)
    p.unique = name == "insert" and p.probing == "cuckoo"
    p.ids = kind(p) == "uniform" and p.n or math.max(1, p.n // 8)
    p.slots = (math.ceil(p.ids / p.load) + 3) // 4 * 4
    return p
  end
end

local function params(probing, keys)
  return {
    n = {
      default = 1 << 26, check = { 1, 17, 1000, 4099, 4099, 8192, 8192 }, sim = 2048, min = 1,
      max = 1 << 27, doc = "number of keys",
    },
    load = {
      default = 0.5, check = { 0.5, 0.5, 0.75, 0.9, 0.95, 0.9, 0.95 }, sim = 0.5, min = 0.1,
      max = 0.95, doc = "share of the slots that is taken in the end",
    },
    keys = {
      default = keys[1],
      check = { "uniform", "zipf", "uniform", "duplicates", "uniform", "zipf", "duplicates" },
      sim = keys[1], choices = keys, doc = "how often each key occurs",
    },
    probing = {
      default = probing[1], choices = probing, variant = true, doc = "where a key may stand",
    },
  }
end

local function cells(list)
  local result = {}
  for i, one in ipairs(list) do
    local probing, load, keys = table.unpack(one)
    result[i] = {
      name = ("%s-%s%s"):format(probing, load, keys and "-" .. keys or ""),
      set = { probing = probing, load = load, keys = keys },
    }
  end
  return result
end

-- A seed whose keys fit into a cuckoo table: nearly every one, and in large tables every one.
local function seed_of(p, rng)
  local seed
  repeat
    seed = rng:integer(0, (1 << 62) - 1)
  until p.probing ~= "cuckoo" or p.n > 65536 or keyset.table(seed, p.ids, p.slots, p.probing)
  return seed
end

-- By array of keys, for as long as that lives: what only the judge may know.
local seeds = setmetatable({}, { __mode = "k" })

local function keys_of(p, rng)
  local seed = seed_of(p, rng)
  local keys = keyset.keys(seed, p.n, p.ids, kind(p))
  seeds[keys] = seed
  return { keys = keys }
end

-- Sectors of 32 bytes, `each` slots in one, in which so many different keys have their first place:
-- the expectation for a random hash. At least these must be touched.
local function sectors(p, keys, each)
  local all = p.slots // each
  return math.floor(all * (1 - math.exp(-keys / all)))
end

-- Different keys among the queries: every id or what it was changed into.
local function different(p) return kind(p) == "uniform" and p.n or p.ids end

local function per_thread(name, keys)
  return function(p)
    return {
      {
        kernel = name .. "_" .. p.probing, grid = (p.n + 256 * keys - 1) // (256 * keys),
        block = 256,
      },
    }
  end
end

local function signatures(name, middle)
  return function(p)
    return ("void %s_%s(%s, int n, unsigned slots)"):format(name, p.probing, middle)
  end
end

local function judged(ctx)
  local p, state = ctx.params, ctx.state
  local keys = ctx:input "keys"
  local wrong = keyset.judge(seeds[keys], p.ids, state.table, p.probing,
    state.counts and keys, state.counts)
  if wrong then return ctx:fail("table", wrong) end
  return ctx:pass("table", ("%d keys, each once"):format(p.ids))
end

-- Bits of the hash that number the regions: a region of the table fits into shared memory.
local function region_bits(p)
  local bits = 6
  while bits < 16 and p.slots >> bits > 8192 do bits = bits + 1 end
  return bits
end

-- Bytes of shared memory of the largest region, `each` a slot.
local function region_bytes(p, bits, each)
  local unit = p.probing == "bucket" and 4 or 1
  return each * unit * ((p.slots // unit >> bits) + 1)
end

local MOST_COUNTED = 14 -- bits of bins that are counted in shared memory

-- Keys sorted by region of the table first, then region after region filled in shared memory.
local function partitioned(counts)
  return function(p)
    local tiles, bits = (p.n + 4095) // 4096, region_bits(p)
    local coarse = (bits + 1) // 2
    local fine = bits - coarse
    local fill = { "sorted", "table", "bins", "binned", "parts", "rest", "slots", bits,
      (p.n >> bits) * 3 // 2 + 128 } -- keys of a region that one block takes, and not more
    local rest = { "sorted", "table", "binned", "parts", "rest", "slots", bits }
    if counts then
      table.insert(fill, 3, counts)
      table.insert(rest, 3, counts)
    end
    return {
      { memset = "bins", bytes = 4 << bits },
      {
        kernel = bits <= MOST_COUNTED and "partition_count" or "partition_count_many",
        grid = math.min((p.n + 8191) // 8192, 264), block = 1024,
        shared = bits <= MOST_COUNTED and 4 << bits or 0, args = { "keys", "bins", "n", bits },
      },
      {
        kernel = "partition_begin", grid = 1, block = 1024,
        args = { "bins", "coarse_bins", "tiles", "rest", "n", coarse, fine },
      },
      {
        kernel = "partition_coarse", grid = tiles, block = 256,
        args = { "keys", "binned", "coarse_bins", "n", coarse, fine },
      },
      {
        kernel = "partition_fine", grid = tiles + (1 << coarse), block = 256,
        args = { "binned", "sorted", "bins", "coarse_bins", "tiles", coarse, fine },
      },
      {
        kernel = "fill_" .. p.probing, grid = 1 << bits, block = 512,
        shared = region_bytes(p, bits, counts and 12 or 8), args = fill,
      },
      { kernel = "rest_" .. p.probing, grid = math.min(1056, tiles), block = 256, args = rest },
    }
  end
end

local function partition_scratch(p)
  return {
    binned = { dtype = "u64", n = p.n }, sorted = { dtype = "u64", n = p.n },
    bins = { dtype = "u32", n = 1 << 16 }, coarse_bins = { dtype = "u32", n = 256 },
    tiles = { dtype = "u32", n = 257 }, rest = { dtype = "u32", n = 2 },
    parts = { dtype = "u32", n = 2 * (p.n // 8192 + (1 << 16)) },
  }
end

-- The arms of one language: as the text says, with the levers, with the keys sorted first.
local function arms(lang, name, counts, prefix)
  local extension = lang == "rust" and "rs" or "cu"
  local plain = ("kernels/hash/%s.%s"):format(name, extension)
  local flight = ("kernels/hash/%s_flight.%s"):format(name, extension)
  local list = {
    { name = prefix or "naive", lang, plain, doc = "one key a thread, slot after slot" },
    {
      name = prefix and prefix .. "-flight" or "flight", lang, flight,
      doc = name == "insert" and "sectors read before a claim, done lanes take their next key"
        or "4 keys in flight a thread, sectors read whole",
      launch = per_thread(name, name == "insert" and 8 or 4),
    },
  }
  if name == "find" then return list end
  list[3] = {
    name = prefix and prefix .. "-partitioned" or "partitioned", lang,
    ("kernels/hash/%s_partitioned.%s"):format(name, extension),
    doc = "keys sorted by region of the table first, regions filled in shared memory",
    only = { probing = { "linear", "bucket" } },
    launch = partitioned(counts),
    scratch = partition_scratch,
  }
  return list
end

local function impls(name, counts)
  local list = arms("cuda", name, counts)
  table.move(arms("rust", name, counts, "rust"), 1, 3, #list + 1, list)
  list[#list + 1] = {
    name = "triton", "triton", ("kernels/hash/%s.py"):format(name),
    doc = "a warp a program, a lane that is done takes its next key",
  }
  return list
end

local insert = pg.task {
  name = "hash/insert",
  doc = "Insert n 64-bit keys into an empty hash table, each once.\n\n" .. TABLE .. "\n" .. KEYS
    .. " Keys of a cuckoo\ntable are uniform whatever keys says.",
  params = params({ "linear", "bucket", "cuckoo" }, { "uniform", "zipf", "duplicates" }),
  derive = derive "insert",
  cells = cells {
    { "linear", 0.5 }, { "linear", 0.75 }, { "linear", 0.9 }, { "linear", 0.95 },
    { "bucket", 0.5 }, { "bucket", 0.9 }, { "bucket", 0.95 }, { "cuckoo", 0.5 },
    { "cuckoo", 0.9 }, { "cuckoo", 0.95 }, { "bucket", 0.5, "zipf" },
    { "bucket", 0.5, "duplicates" },
  },
  inputs = keys_of,
  state = function(p) return { table = pg.spec("u64", p.slots, "empty") } end,
  kernel = signatures("insert", "const u64* keys, u64* table"),
  launch = per_thread("insert", 1),
  reference = function() return {} end, -- the table is judged by what a search would find
  validate = judged,
  own_layout = true,
  work = function(p) return { bytes = 8 * p.n + 32 * sectors(p, p.ids, 4), items = p.n } end,
  impls = impls "insert",
}

local find = pg.task {
  name = "hash/find",
  doc = "Look up n 64-bit keys in a hash table.\n\nat[i] is the slot of queries[i], or 0xffffffff"
    .. " when the table does not have it: about half of\nthem.\n\n" .. TABLE .. "\n" .. KEYS,
  params = params({ "linear", "bucket", "cuckoo" }, { "uniform", "zipf", "duplicates" }),
  derive = derive "find",
  cells = cells {
    { "linear", 0.5 }, { "linear", 0.75 }, { "linear", 0.9 }, { "linear", 0.95 },
    { "bucket", 0.5 }, { "bucket", 0.9 }, { "bucket", 0.95 }, { "cuckoo", 0.5 },
    { "cuckoo", 0.9 }, { "cuckoo", 0.95 }, { "bucket", 0.5, "zipf" },
  },
  inputs = function(p, rng)
    local seed = seed_of(p, rng)
    return {
      table = keyset.table(seed, p.ids, p.slots, p.probing),
      queries = keyset.queries(seed, p.n, p.ids, p.keys),
    }
  end,
  outputs = function(p) return { at = pg.spec("u32", p.n) } end,
  kernel = signatures("find", "const u64* table, const u64* queries, unsigned* at"),
  launch = per_thread("find", 1),
  reference = function(p, io) return { at = keyset.find(io.table, io.queries, p.probing) } end,
  validate = "exact",
  work = function(p)
    return { bytes = 12 * p.n + 32 * sectors(p, different(p), 4), items = p.n }
  end,
  impls = impls "find",
}

local count = pg.task {
  name = "hash/count",
  doc = "Count how often each of n 64-bit keys occurs.\n\nThe keys go into an empty hash table,"
    .. " each once, and counts[s] becomes how often the key of\nslot s occurs, 0 for an empty slot."
    .. "\n\n" .. TABLE .. "\n" .. KEYS,
  params = params({ "linear", "bucket" }, { "zipf", "duplicates", "uniform" }),
  derive = derive "count",
  cells = cells {
    { "linear", 0.5, "zipf" }, { "linear", 0.5, "duplicates" }, { "linear", 0.5, "uniform" },
    { "linear", 0.9, "zipf" }, { "bucket", 0.5, "zipf" }, { "bucket", 0.9, "zipf" },
    { "bucket", 0.95, "duplicates" },
  },
  inputs = keys_of,
  state = function(p)
    return { table = pg.spec("u64", p.slots, "empty"), counts = pg.spec("u32", p.slots) }
  end,
  kernel = signatures("count", "const u64* keys, u64* table, unsigned* counts"),
  launch = per_thread("count", 1),
  reference = function() return {} end, -- the table is judged by what a search would find
  validate = judged,
  own_layout = true,
  work = function(p)
    local touched = sectors(p, p.ids, 4) + sectors(p, p.ids, 8) -- of the table and of the counts
    return { bytes = 8 * p.n + 32 * touched, items = p.n }
  end,
  impls = impls("count", "counts"),
}

return { insert, find, count }
