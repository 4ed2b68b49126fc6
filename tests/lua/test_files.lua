-- Paths, folders that do not stay, files that others see whole, and words of the shell.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local shell = require "perigee.shell"

local BINARY = core.realpath((os.getenv "BUILD" or "build") .. "/perigee")
local folder

TestFiles = {}

function TestFiles.setUp() folder = files.temporary() end
function TestFiles.tearDown() files.remove(folder) end

function TestFiles.test_folder_and_name_of_a_path()
  for path, want in pairs { ["a/b.c"] = "a", ["/a/b"] = "/a", ["/b"] = "/", ["b"] = "." } do
    lu.assertEquals(files.dirname(path), want)
    lu.assertEquals(files.basename(path):sub(1, 1), "b")
  end
end

function TestFiles.test_where_a_file_was_looked_for_is_told()
  local _, e = pcall(files.find, "/no-such-file.cu", { "." })
  lu.assertEquals({ e.code, e.hint }, { "not_found", "looked in /" })
  _, e = pcall(files.find, "no-such-file.cu", { folder, "." })
  lu.assertEquals(e.hint, "looked in " .. folder .. ", .")
end

function TestFiles.test_what_cannot_be_written_is_raised()
  files.write(folder .. "/text", "a\0b")
  lu.assertEquals(files.read(folder .. "/text"), "a\0b")
  local ok, e = pcall(files.write, folder .. "/nowhere/text", "")
  lu.assertFalse(ok)
  lu.assertEquals({ e.code, e.where }, { "not_found", folder .. "/nowhere/text" })
end

function TestFiles.test_folders_are_made_with_those_above_them_or_it_is_raised()
  files.make_folder(folder .. "/new/inner")
  lu.assertTrue(files.is_folder(folder .. "/new/inner"))
  files.write(folder .. "/new/file", "")
  local ok, e = pcall(files.make_folder, folder .. "/new/file/inner")
  lu.assertFalse(ok)
  lu.assertEquals({ e.code, e.where }, { "not_found", folder .. "/new/file/inner" })
end

function TestFiles.test_temporary_folders_are_new_and_where_they_are_wanted()
  local one, two = files.temporary(folder), files.temporary(folder)
  lu.assertNotEquals(one, two)
  lu.assertEquals(files.dirname(one), folder)
  local _, e = pcall(files.temporary, folder .. "/none")
  lu.assertEquals({ e.code, e.hint }, { "not_found", nil })
  local script = folder .. "/script.lua"
  core.write_file(script, 'require "perigee.files".temporary()')
  lu.assertStrContains(shell.output(("TMPDIR=/none %s %s"):format(shell.quoted(BINARY),
    shell.quoted(script))), "set TMPDIR to a folder")
end

function TestFiles.test_a_folder_is_removed_with_what_is_in_it_but_not_what_links_name()
  local inside, outside = folder .. "/inside", folder .. "/outside"
  for _, path in ipairs { inside .. "/deep", outside } do
    core.mkdir_all(path)
    core.write_file(path .. "/file", "x")
  end
  os.execute(("ln -s %s %s"):format(shell.quoted(outside), shell.quoted(inside .. "/link")))
  files.remove(inside)
  lu.assertNil((core.file_info(inside)))
  lu.assertEquals(core.list_dir(outside), { "file" })
end

function TestFiles.test_a_temporary_folder_goes_whatever_happens()
  local seen
  local a, b = files.in_temporary(function(path)
    seen = path
    return core.write_file(path .. "/x", "x"), 2
  end)
  lu.assertEquals({ a, b, core.file_info(seen) and 1 }, { true, 2, nil })
  local ok, e = pcall(files.in_temporary, function(path)
    seen = path
    error { code = "mine" }
  end)
  lu.assertEquals({ ok, e.code, files.is_folder(seen) }, { false, "mine", false })
end

function TestFiles.test_a_file_is_made_whole_or_not_at_all()
  local path = folder .. "/made"
  files.make(path, function(part)
    lu.assertNil((core.file_info(path)))
    core.write_file(part, "whole")
  end)
  lu.assertEquals(core.read_file(path), "whole")
  local ok, e = pcall(files.make, folder .. "/not", function(part, within)
    core.write_file(part, "half")
    core.write_file(within .. "/beside", "")
    error { code = "mine" }
  end)
  lu.assertEquals({ ok, e.code }, { false, "mine" })
  ok, e = pcall(files.make, folder .. "/nothing", function() end)
  lu.assertEquals({ ok, e.code, e.where }, { false, "io", folder .. "/nothing" })
  lu.assertEquals(core.list_dir(folder), { "made" })
end

-- A folder cannot be moved onto one that has files: the one that is there is as good.
function TestFiles.test_who_makes_a_folder_second_finds_the_first()
  local path = folder .. "/made"
  for _, who in ipairs { "first", "second" } do
    files.make(path, function(part)
      core.mkdir_all(part)
      core.write_file(part .. "/who", who)
    end)
  end
  lu.assertEquals(core.read_file(path .. "/who"), "first")
  lu.assertEquals(core.list_dir(folder), { "made" })
end

TestShell = {}

function TestShell.test_a_quoted_word_stays_one()
  for _, word in ipairs { "", "a b", "it's", "$HOME `x` \\ \"", "two\nlines", "-n" } do
    local text, ok = shell.output("printf %s " .. shell.quoted(word))
    lu.assertEquals({ text, ok }, { word, true })
  end
end

function TestShell.test_both_streams_and_the_end()
  local text, ok = shell.output "{ echo out; echo err >&2; exit 3; }"
  lu.assertEquals({ text, ok }, { "out\nerr\n", false })
end

os.exit(lu.LuaUnit.run(), true)
