--- conv/conv2d by cuDNN, in single precision.
return function(run)
  local dnn = require("perigee.lib.cudnn").handle(run.stream)
  local apply, which = dnn:convolution(run.params, run.sets[1])
  return function(io) apply(io.x, io.w, io.y) end,
    { library = "cuDNN", version = dnn.version, note = which }
end
