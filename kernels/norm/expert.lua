--- norm/softmax by cuDNN.
return function(run)
  local dnn = require("perigee.lib.cudnn").handle(run.stream)
  local softmax = dnn:softmax(run.params.rows, run.params.columns)
  return function(io) softmax(io.x, io.y) end, { library = "cuDNN", version = dnn.version }
end
