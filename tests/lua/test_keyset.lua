-- Keys and tables of the tasks hash/insert, hash/find and hash/count: what the C module makes is
-- what the tasks say, followed here word by word, and what is wrong with a table is found.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local keyset = require "hash.keyset"

local EMPTY = -1 -- all bits set
local SEED, N = 12345, 1000

local function hash(key, factor) return key * factor >> 32 end
local function first(key, count) return hash(key, 0x9e3779b97f4a7c15) * count >> 32 end
local function second(key, count)
  return hash(key ~ (key >> 29), 0xd1342543de82ef95) * count >> 32
end

-- The slots in which the rule lets a key stand, given what else is there.
local function allowed(key, tab, probing)
  local slots, result = tab.count, {}
  local function unit(at, size)
    local full = true
    for slot = at * size, at * size + size - 1 do
      result[slot] = true
      full = full and tab[slot] ~= EMPTY
    end
    return full
  end
  if probing == "cuckoo" then
    unit(first(key, slots // 4), 4)
    unit(second(key, slots // 4), 4)
    return result
  end
  local size = probing == "linear" and 1 or 4
  local at = first(key, slots // size)
  while unit(at, size) do at = (at + 1) % (slots // size) end
  return result
end

local function occurrences(keys)
  local count, distinct = {}, 0
  for i = 0, keys.count - 1 do
    local key = keys[i]
    if not count[key] then distinct = distinct + 1 end
    count[key] = (count[key] or 0) + 1
  end
  return count, distinct
end

local function slots_for(ids, load) return (math.ceil(ids / load) + 3) // 4 * 4 end

TestKeyset = {}

function TestKeyset:test_keys_occur_as_often_as_their_kind_says()
  local count, distinct = occurrences(keyset.keys(SEED, N, N, "uniform"))
  lu.assertEquals(distinct, N)
  lu.assertNil(count[EMPTY])
  count, distinct = occurrences(keyset.keys(SEED, N, 125, "duplicates"))
  lu.assertEquals(distinct, 125)
  for _, times in pairs(count) do lu.assertEquals(times, 8) end
end

function TestKeyset:test_zipf_keys_follow_the_law()
  local ids, n = 1000, 101000
  local count, distinct = occurrences(keyset.keys(SEED, n, ids, "zipf"))
  lu.assertEquals(distinct, ids)
  local times = {}
  for _, t in pairs(count) do times[#times + 1] = t end
  table.sort(times, function(a, b) return a > b end)
  for k = 0, 3 do
    local want = 1 + 100000 * math.log((k + 2) / (k + 1)) / math.log(ids + 1)
    lu.assertTrue(math.abs(times[k + 1] - want) < 5 * math.sqrt(want), times[k + 1] .. " " .. want)
  end
end

function TestKeyset:test_about_half_of_the_queries_are_keys()
  local known = occurrences(keyset.keys(SEED, N, N, "uniform"))
  local queries, present = keyset.queries(SEED, N, N, "uniform"), 0
  for i = 0, N - 1 do present = present + (known[queries[i]] and 1 or 0) end
  lu.assertTrue(math.abs(present - N / 2) < 80, present)
end

function TestKeyset:test_tables_follow_the_rule_and_a_search_agrees()
  local keys = keyset.keys(SEED, N, N, "uniform")
  local queries = keyset.queries(SEED, N, N, "uniform")
  for _, probing in ipairs { "linear", "bucket", "cuckoo" } do
    local tab = keyset.table(SEED, N, slots_for(N, 0.95), probing)
    local place = {}
    for slot = 0, tab.count - 1 do
      if tab[slot] ~= EMPTY then place[tab[slot]] = slot end
    end
    for i = 0, N - 1 do
      lu.assertTrue(allowed(keys[i], tab, probing)[place[keys[i]]], probing)
    end
    local at = keyset.find(tab, queries, probing)
    for i = 0, N - 1 do lu.assertEquals(at[i], place[queries[i]] or 0xffffffff) end
    lu.assertNil(keyset.judge(SEED, N, tab, probing))
  end
end

-- Every key, moved to any slot that is free or changed with any other: the judge agrees with the
-- rule.
function TestKeyset:test_the_judge_knows_where_keys_may_stand()
  local n = 12
  for _, probing in ipairs { "linear", "bucket", "cuckoo" } do
    local tab = keyset.table(SEED, n, 16, probing)
    local right, wrong = 0, 0
    for a = 0, 15 do
      for b = a + 1, 15 do
        tab[a], tab[b] = tab[b], tab[a]
        local legal = true
        for slot = 0, 15 do
          legal = legal and (tab[slot] == EMPTY or allowed(tab[slot], tab, probing)[slot] == true)
        end
        local reason = keyset.judge(SEED, n, tab, probing)
        lu.assertEquals(reason == nil, legal, reason)
        if legal then right = right + 1 else wrong = wrong + 1 end
        tab[a], tab[b] = tab[b], tab[a]
      end
    end
    lu.assertTrue(right > 0 and wrong > 0)
  end
end

local function judge_changed(slot_of, value)
  local tab = keyset.table(SEED, N, slots_for(N, 0.5), "linear")
  local slot = slot_of(tab)
  tab[slot] = type(value) == "function" and value(tab, slot) or value
  return keyset.judge(SEED, N, tab, "linear")
end

local function last_taken(tab)
  local slot = tab.count - 1
  while tab[slot] == EMPTY or tab[(slot + 1) % tab.count] ~= EMPTY do slot = slot - 1 end
  return slot
end

local function behind_last(tab) return (last_taken(tab) + 1) % tab.count end

function TestKeyset:test_what_is_wrong_is_said()
  lu.assertStrContains(judge_changed(last_taken, EMPTY), "1 of 1000 are missing")
  lu.assertStrContains(judge_changed(behind_last, 77), "which is no key of the input")
  lu.assertStrContains(judge_changed(behind_last, function(tab, slot)
    return tab[(slot - 1) % tab.count]
  end), "which is in the table twice")
end

function TestKeyset:test_counts_are_judged()
  local keys = keyset.keys(SEED, N, 125, "zipf")
  local times = occurrences(keys)
  local tab = keyset.table(SEED, 125, 252, "bucket")
  local counts = pg.array("u32", 252)
  for slot = 0, 251 do counts[slot] = times[tab[slot]] or 0 end
  lu.assertNil(keyset.judge(SEED, 125, tab, "bucket", keys, counts))
  for slot = 0, 251 do
    counts[slot] = counts[slot] + 1
    lu.assertStrContains(keyset.judge(SEED, 125, tab, "bucket", keys, counts),
      ("counts[%d]"):format(slot))
    counts[slot] = counts[slot] - 1
  end
end

function TestKeyset:test_a_cuckoo_table_that_is_too_full_is_none()
  lu.assertNil(keyset.table(SEED, 1000, 1000, "cuckoo"))
end

function TestKeyset:test_bad_arguments_are_said()
  local keys = keyset.keys(1, 4, 4, "uniform")
  local function message(...) return select(2, pcall(...)).message end
  local function judge(ids, slots, ...)
    return message(keyset.judge, 1, ids, pg.array("u64", slots), "linear", ...)
  end
  lu.assertStrContains(judge(4, 6), "multiple of 4")
  lu.assertStrContains(judge(0, 8), "2^32 - 1")
  lu.assertStrContains(judge(4, 8, keys, pg.array("u32", 4)), "one count a slot")
  lu.assertFalse((pcall(keyset.keys, 1, 4, 4, "other")))
end

-- One with a layout of its own, one that does not claim slots, one whose table nobody could search.
function TestKeyset:test_candidates()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local want = {
    mirrored = { "passed", "" }, ["unclaimed.cu"] = { "wrong_result", "missing" },
    ["anywhere.cu"] = { "wrong_result", "would not be found" },
  }
  local task = pg.catalogue.find("hash/insert")[1]
  for name, expected in pairs(want) do
    local rec = pg.check(task, "tests/candidates/hash/" .. name,
      { device = "sim", seed = 3 })
    lu.assertEquals(rec.verdict, expected[1], rec.reason)
    lu.assertStrContains(rec.reason or "", expected[2])
  end
end

os.exit(lu.LuaUnit.run())
