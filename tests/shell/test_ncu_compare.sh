#!/bin/bash
# tests/gpu/ncu_compare without a GPU: an `ncu` that reports what the simulator counted, once as it is, once changed.
. tests/shell/tap.sh
build=${BUILD:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/fake.lua" <<'END'
-- Counters of sim.json as ncu writes them; of saxpy's load requests and of reduce's L2 hits a part is missing.
local core = require "perigee.core"
local requests, sectors = "l1tex__t_requests_pipe_lsu_mem_global_op_%s.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_%s.sum"
print '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
for i, one in ipairs(core.json_decode(core.read_file(arg[1]))) do
  local c = one.counters
  local values = {
    [requests:format "ld"] = c.global_load_requests, [sectors:format "ld"] = c.global_load_sectors,
    [requests:format "st"] = c.global_store_requests, [sectors:format "st"] = c.global_store_sectors,
    [requests:format "red"] = 0, [requests:format "atom"] = c.global_atomic_requests,
    [sectors:format "red"] = c.global_atomic_sectors, [sectors:format "atom"] = 0,
    ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] = c.shared_wavefronts - c.shared_requests,
    ["l1tex__t_sectors_lookup_hit.sum"] = c.l1_hit_sectors,
    ["l1tex__t_sectors_lookup_miss.sum"] = c.l1_sectors - c.l1_hit_sectors,
    ["lts__t_sectors_srcunit_tex_lookup_hit.sum"] = c.l2_hit_sectors,
    ["lts__t_sectors_srcunit_tex_lookup_miss.sum"] = c.l2_sectors - c.l2_hit_sectors,
  }
  if arg[2] == "changed" and one.kernel == "saxpy" then
    values[requests:format "ld"] = c.global_load_requests * 0.95 // 1
  elseif arg[2] == "changed" and one.kernel == "reduce" then
    values["lts__t_sectors_srcunit_tex_lookup_hit.sum"] = c.l2_hit_sectors + 0.12 * c.l2_sectors // 1
  end
  for name, value in pairs(values) do
    print(('"%d","%s","%s","x","%s"'):format(i - 1, one.kernel, name, ("%d"):format(value):gsub("^(%d)(%d%d%d)$", "%1,%2")))
  end
end
END
cat >"$folder/ncu" <<END
#!/bin/bash
while ((\$#)); do [[ \$1 == --log-file ]] && log=\$2; shift; done
[[ \$FAKE == silent ]] || "$(realpath "$build/perigee")" "$folder/fake.lua" "$folder/out/sim.json" \$FAKE >"\$log"
END
chmod +x "$folder/ncu"

compare() { NCU=$folder/ncu FAKE=$1 tests/gpu/ncu_compare "$build/perigee" "$folder/out" 2>&1; echo "status $?"; }
out=$(NCU=none tests/gpu/ncu_compare "$build/perigee" "$folder/out" 2>&1)
check "without ncu the simulator's counters alone" "$out" "*no ncu here*| saxpy | load requests | - | 4098 |*| update | 2352 | 9768 |*"
out=$(compare same)
check "what is equal stands there once" "$out" "*| update | 2352 | 9768 | - | - | 4430 | 102385 | - |*apart: nothing*status 0"
out=$(compare changed)
check "over 5% and 10 points is said" "$out" "*| saxpy | 3893 / 4098 (1.05) |*apart: saxpy: load requests; reduce: L2 hit %*status 0"
out=$(compare silent)
check "an ncu that counts nothing" "$out" "*ncu gave no counters*status 3"
finish
