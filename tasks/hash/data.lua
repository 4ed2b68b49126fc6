--- Brings the scans of the cells scan-* into data/scans; not a task. `make data` runs it.
-- They come with Debian's package libcgal-demo, in an archive under its documentation.

local core = require "perigee.core"
local files = require "perigee.files"
local shell = require "perigee.shell"
local tsdf = require "perigee.tsdf"

local PACKAGE = "libcgal-demo"
local ARCHIVE = "usr/share/doc/libcgal-dev/data.tar.gz"

-- Where each file is in the archive, and what it is in version 5.5.1: another version may differ.
local FILES = {
  ["bunny00.off"] = {
    "data/meshes/bunny00.off",
    "ab651cb04955c161efaeb079035a1e5e1f0e0d1f816a2df67beaea68f393ff2b",
  },
  ["armadillo.off"] = {
    "data/meshes/armadillo.off",
    "6f7f3ca1abc506569466b72f2f59d49493a284e7376d7a7e23c08115ec8cec4e",
  },
  ["b9.ply"] = {
    "data/meshes/b9.ply",
    "4f9ea90c42295f49c49ed9baa48b583549efc284c8707e72d198a5cd7aeeb7f1",
  },
  ["building.ply"] = {
    "data/points_3/building.ply",
    "8604fd5448ed716f58df787a7696481f26b3c69587f88048fc48223467ac71f7",
  },
  ["radar.xyz"] = {
    "data/points_3/radar.xyz",
    "d37595a53067bca4710db64725c3593aa3963e9c4e978b615c7a70d80fd851b3",
  },
}

local quoted = shell.quoted

local function run(format, ...)
  return os.execute(format:format(...)) == true
end

-- The package file in `folder`, fetched by apt with the lists it has, else with new ones.
local function fetch(folder)
  local at = quoted(folder)
  local download = "cd %s && apt-get -qq download " .. PACKAGE .. " 2>apt.log"
  local done = run(download, at)
    or (run("apt-get -qq update >>%s/apt.log 2>&1", at) and run(download, at))
  if not done then
    local log = core.read_file(folder .. "/apt.log") or ""
    core.error("environment", ("apt-get could not download %s: %s"):format(PACKAGE,
      log:match("[^\n]+") or "is apt-get there?"),
      "run `apt-get update` as root and try again; elsewhere copy the files to data/scans by hand")
  end
end

-- Unpack the archive of the package in `folder` there.
local function unpack_package(folder)
  local at = quoted(folder)
  local ok = run("cd %s && dpkg-deb --fsys-tarfile *.deb | tar -xO ./%s | tar -xz", at, ARCHIVE)
  if not ok then
    core.error("environment", ("cannot unpack %s from %s"):format(ARCHIVE, PACKAGE),
      "it needs dpkg-deb, tar and gzip")
  end
end

local function install(folder, name, from, sha)
  local bytes, e = core.read_file(folder .. "/" .. from)
  if not bytes then core.error(e.code, e.message, "this version of the package lacks it",
    e.where) end
  local path = tsdf.scan_path(name)
  core.write_file(path, bytes)
  print(("%s  %d bytes%s"):format(path, #bytes,
    core.sha256(bytes) == sha and "" or "  (differs from version 5.5.1: so will the counts)"))
end

local function main()
  if tsdf.has_scans() then
    print("the scans are already in " .. tsdf.scan_path(""))
    return
  end
  core.mkdir_all(tsdf.scan_path(""))
  files.in_temporary(function(folder)
    fetch(folder)
    unpack_package(folder)
    for _, scan in ipairs(tsdf.SCANS) do
      install(folder, scan.file, table.unpack(FILES[scan.file]))
    end
  end)
end

main()
