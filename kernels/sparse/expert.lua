--- sparse/spmv by cuSPARSE.
return function(run)
  local count = run.buffers.value.bytes // 4
  local product, said = require("perigee.lib.cusparse").product(run.stream,
    { rows = run.params.rows, count = count }, run.sets)
  return function(_, set) product(set + 1) end,
    { library = "cuSPARSE", version = said.version, note = said.note }
end
