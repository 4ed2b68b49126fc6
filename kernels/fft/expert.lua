--- fft/c2c by cuFFT.
return function(run)
  local forward, version = require("perigee.lib.cufft").forward(run.stream, 1 << run.params.log2n,
    run.params.batch)
  return function(io) forward(io.x, io.y) end, { library = "cuFFT", version = version }
end
