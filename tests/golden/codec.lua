-- Compact bytes: an adaptive binary arithmetic coder (carry-less, 32 bits) over the bytes of words.
-- A byte's context is its place in the word and whether the byte above it was 0, 255 or another.
-- Sequences over all inputs of 16 bits are turned into second differences with runs of zeros first.
local M = {}

local TOP, LOW = 1 << 24, 0xffffffff
local RATE = 4

local function new_model()
  return setmetatable({}, { __index = function(m, context)
    local tree = {}
    for i = 1, 255 do tree[i] = 2048 end
    m[context] = tree
    return tree
  end })
end

local function context_of(place, above)
  return place * 3 + (above == 0 and 0 or above == 255 and 1 or 2)
end

-- ---- bits: a range is split in proportion to the chance of a zero, in 4096ths ----

local function encoder()
  local low, range, cache, pending, out = 0, LOW, 0, 1, {}
  local function shift()
    if low < 0xff000000 or low > LOW then
      local carry = low >> 32
      repeat
        out[#out + 1] = string.char(cache + carry & 255)
        cache = 255
        pending = pending - 1
      until pending == 0
      cache = low >> 24 & 255
    end
    pending = pending + 1
    low = (low & 0xffffff) << 8
  end
  local self = {}
  function self.byte(tree, value)
    local node = 1
    for k = 7, 0, -1 do
      local bit, p = value >> k & 1, tree[node]
      local bound = (range >> 12) * p
      if bit == 0 then
        range = bound
        tree[node] = p + (4096 - p >> RATE)
      else
        low = low + bound
        range = range - bound
        tree[node] = p - (p >> RATE)
      end
      node = node * 2 + bit
      while range < TOP do
        range = range << 8 & LOW
        shift()
      end
    end
  end
  function self.finish()
    for _ = 1, 5 do shift() end
    return table.concat(out)
  end
  return self
end

local function decoder(text)
  local at, range, code = 6, LOW, 0
  for i = 1, 5 do code = (code << 8 | (text:byte(i) or 0)) & LOW end
  return function(tree)
    local node = 1
    for _ = 1, 8 do
      local p = tree[node]
      local bound = (range >> 12) * p
      if code < bound then
        range = bound
        tree[node] = p + (4096 - p >> RATE)
        node = node * 2
      else
        code = code - bound
        range = range - bound
        tree[node] = p - (p >> RATE)
        node = node * 2 + 1
      end
      while range < TOP do
        range = range << 8 & LOW
        code = code << 8 & LOW | (text:byte(at) or 0)
        at = at + 1
      end
    end
    return node - 256
  end
end

-- ---- words --------------------------------------------------------------------------------------

local function encode_words(bytes, width)
  local coder, model = encoder(), new_model()
  for at = 1, #bytes, width do
    local above = 1
    for place = width - 1, 0, -1 do
      local byte = bytes:byte(at + place)
      coder.byte(model[context_of(place, above)], byte)
      above = byte
    end
  end
  return coder.finish()
end

local function decode_words(text, size, width)
  local byte_of, model, out = decoder(text), new_model(), {}
  local char, word = string.char, {}
  for _ = 1, size // width do
    local above = 1
    for place = width - 1, 0, -1 do
      above = byte_of(model[context_of(place, above)])
      word[place + 1] = above
    end
    out[#out + 1] = char(table.unpack(word, 1, width))
  end
  return table.concat(out)
end

-- Second differences: (run of zeros, at most 65535) (difference) ...
local function smooth(bytes, width)
  local format, mask = "<i" .. width, width == 8 and -1 or (1 << width * 8) - 1
  local out, run, last, step = {}, 0, 0, 0
  for at = 1, #bytes, width do
    local value = string.unpack(format, bytes, at)
    local difference = value - last - step & mask
    step, last = value - last, value
    if difference == 0 and run < 65535 then
      run = run + 1
    else
      out[#out + 1] = string.pack("<I2", run) .. string.pack("<i8", difference):sub(1, width)
      run = 0
    end
  end
  out[#out + 1] = string.pack("<I2", run)
  return table.concat(out)
end

local function unsmooth(text, size, width)
  local format, mask = "<i8", width == 8 and -1 or (1 << width * 8) - 1
  local pad, out, at, last, step = ("\0"):rep(8 - width), {}, 1, 0, 0
  local left = size // width
  while left > 0 do
    local run = string.unpack("<I2", text, at)
    if step == 0 then
      out[#out + 1] = string.pack(format, last):sub(1, width):rep(run)
    else
      for _ = 1, run do
        last = last + step & mask
        out[#out + 1] = string.pack(format, last):sub(1, width)
      end
    end
    left = left - run
    if left <= 0 then break end
    local difference = string.unpack(format, text:sub(at + 2, at + 1 + width) .. pad)
    local value = last + step + difference & mask
    step, last = value - last & mask, value
    out[#out + 1] = string.pack(format, last):sub(1, width)
    left, at = left - 1, at + 2 + width
  end
  return table.concat(out)
end

--- Bytes of words of `width` bytes, shorter. `smoothly`: neighbours are alike.
function M.encode(bytes, width, smoothly)
  if smoothly then
    local tokens = smooth(bytes, width)
    return string.pack("<I4", #tokens) .. encode_words(tokens .. ("\0"):rep(width), width + 2)
  end
  local coded = encode_words(bytes, width)
  return #coded < #bytes and coded or bytes
end

--- What M.encode was given: `size` bytes.
function M.decode(text, size, width, smoothly)
  if smoothly then
    local tokens = string.unpack("<I4", text)
    return unsmooth(decode_words(text:sub(5), tokens + width, width + 2), size, width)
  end
  if #text == size then return text end
  return decode_words(text, size, width)
end

return M
