--- cuDNN for experts: convolutions and softmax in single precision.
-- @module perigee.lib.cudnn

local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cudnn = {}

ffi.cdef [[
  typedef struct cudnnContext *cudnnHandle_t;
  size_t cudnnGetVersion(void);
  int cudnnCreate(cudnnHandle_t *handle);
  int cudnnDestroy(cudnnHandle_t handle);
  int cudnnSetStream(cudnnHandle_t handle, uintptr_t stream);
  int cudnnCreateTensorDescriptor(void **desc);
  int cudnnDestroyTensorDescriptor(void *desc);
  int cudnnSetTensor4dDescriptor(void *desc, int format, int type, int n, int c, int h, int w);
  int cudnnCreateFilterDescriptor(void **desc);
  int cudnnDestroyFilterDescriptor(void *desc);
  int cudnnSetFilter4dDescriptor(void *desc, int type, int format, int k, int c, int h, int w);
  int cudnnCreateConvolutionDescriptor(void **desc);
  int cudnnDestroyConvolutionDescriptor(void *desc);
  int cudnnSetConvolution2dDescriptor(void *desc, int pad_h, int pad_w, int u, int v,
                                      int dilation_h, int dilation_w, int mode, int compute);
  int cudnnSetConvolutionMathType(void *desc, int math);
  int cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, void *x, void *w, void *conv,
                                              void *y, int algorithm, size_t *bytes);
  int cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, void *x_desc, uintptr_t x,
                              void *w_desc, uintptr_t w, void *conv, int algorithm,
                              uintptr_t workspace, size_t bytes, const void *beta, void *y_desc,
                              uintptr_t y);
  int cudnnSoftmaxForward(cudnnHandle_t handle, int algorithm, int mode, const void *alpha,
                          void *x_desc, uintptr_t x, const void *beta, void *y_desc, uintptr_t y);
]]

local NCHW, FLOAT, CROSS_CORRELATION, FMA_MATH = 0, 0, 1, 3 -- no TF32
local ACCURATE, INSTANCE = 1, 0
local WORKSPACE_MOST = 4 << 30
-- cudnnConvolutionFwdAlgo_t, from 0.
local ALGORITHMS = { "implicit GEMM", "implicit precomputed GEMM", "GEMM", "direct", "FFT",
  "tiled FFT", "Winograd", "nonfused Winograd" }

local check, made = cuda.checker()

local Handle = {}
Handle.__index = Handle

--- A handle that works on a stream. @treturn Handle with `version`
-- @raise "environment" when the library is missing
function cudnn.handle(stream)
  local library = cuda.open("cudnn", "the Python package nvidia-cudnn-cu13 or -cu12, and with "
    .. "NVIDIA's package cudnn")
  local raw = ffi.new "cudnnHandle_t[1]"
  check(library.cudnnCreate(raw), "cudnnCreate")
  local handle = ffi.gc(raw[0], library.cudnnDestroy)
  check(library.cudnnSetStream(handle, stream), "cudnnSetStream")
  local number = ffi.tonumber(library.cudnnGetVersion())
  return setmetatable({ library = library, raw = handle, stream = stream,
    one = ffi.new("float[1]", 1), zero = ffi.new("float[1]", 0),
    version = cuda.version_text(number, number >= 90000 and 10000 or 1000) }, Handle)
end

-- A descriptor of `kind`, set by what `set` is.
function Handle:descriptor(kind, set, ...)
  local library = self.library
  local desc = made(library[("cudnnCreate%sDescriptor"):format(kind)],
    library[("cudnnDestroy%sDescriptor"):format(kind)], kind .. " descriptor")
  check(library[set](desc, ...), set)
  return desc
end

function Handle:tensor(n, c, h, w)
  return self:descriptor("Tensor", "cudnnSetTensor4dDescriptor", NCHW, FLOAT, n, c, h, w)
end

--- Make ready a convolution with filters of 3 x 3, padded by 1, by the fastest of the library's
-- algorithms in plain single precision, each tried on the buffers of `example`.
-- @tparam table p {images, inputs, outputs, height, width}
-- @tparam table example {x, w, y}: device addresses
-- @treturn function (x, w, y) called with device addresses; enqueues
-- @treturn string which algorithm
function Handle:convolution(p, example)
  local library, handle, one, zero = self.library, self.raw, self.one, self.zero
  local x_desc = self:tensor(p.images, p.inputs, p.height, p.width)
  local y_desc = self:tensor(p.images, p.outputs, p.height, p.width)
  local w_desc = self:descriptor("Filter", "cudnnSetFilter4dDescriptor", FLOAT, NCHW, p.outputs,
    p.inputs, 3, 3)
  local conv = self:descriptor("Convolution", "cudnnSetConvolution2dDescriptor", 1, 1, 1, 1, 1, 1,
    CROSS_CORRELATION, FLOAT)
  check(library.cudnnSetConvolutionMathType(conv, FMA_MATH), "cudnnSetConvolutionMathType")
  local rooms = {}
  local function enqueue(number, x, w, y)
    local room = rooms[number]
    return library.cudnnConvolutionForward(handle, one, x_desc, x, w_desc, w, conv, number - 1,
      room.at, room.bytes, zero, y_desc, y)
  end
  local best = cuda.fastest(self.stream, #ALGORITHMS, function(number)
    local bytes = ffi.new "size_t[1]"
    local status = rooms[number] and 0 or library.cudnnGetConvolutionForwardWorkspaceSize(handle,
      x_desc, w_desc, conv, y_desc, number - 1, bytes)
    if status ~= 0 or bytes[0] > WORKSPACE_MOST then return false end
    rooms[number] = rooms[number] or cuda.allocate(ffi.tonumber(bytes[0]))
    return enqueue(number, example.x, example.w, example.y) == 0
  end)
  for number in pairs(rooms) do
    if number ~= best then rooms[number] = nil end
  end
  return function(x, w, y) check(enqueue(best, x, w, y), "cudnnConvolutionForward") end,
    ALGORITHMS[best]
end

--- Make ready the softmax of each row, whose elements are pixels of one channel; as channels of one
-- pixel they take as long on an H200. @treturn function (x, y)
function Handle:softmax(rows, columns)
  local library, handle, one, zero = self.library, self.raw, self.one, self.zero
  local desc = self:tensor(rows, 1, 1, columns)
  return function(x, y)
    check(library.cudnnSoftmaxForward(handle, ACCURATE, INSTANCE, one, desc, x, zero, desc, y),
      "cudnnSoftmaxForward")
  end
end

return cudnn
