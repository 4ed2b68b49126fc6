-- The parser of kernel signatures: what it reads, what it refuses and how it says so.
local lu = require "luaunit"
local signature = require "perigee.signature"

TestSignature = {}

local function first(text) return signature.parse("void k(" .. text .. ")").params[1] end

function TestSignature:test_a_whole_signature()
  local s = signature.parse("void saxpy(const float* x, float *y, float a, int n);")
  lu.assertEquals(s.name, "saxpy")
  lu.assertEquals(#s.params, 4)
  lu.assertEquals(s.params[1], { name = "x", type = "float", dtype = "f32", pointer = true,
    const = true })
  lu.assertEquals(s.params[2], { name = "y", type = "float", dtype = "f32", pointer = true,
    const = false })
  lu.assertEquals(s.by_name.a.dtype, "f32")
  lu.assertEquals(s.by_name.n.dtype, "i32")
  lu.assertFalse(s.by_name.n.pointer)
end

function TestSignature:test_decorations_of_cuda_are_passed_over()
  local s = signature.parse([[extern "C" __global__ void __launch_bounds__(256, 2)
    walk(const float* __restrict__ points /* xyz */, Entry* table) // the contract]])
  lu.assertEquals(s.name, "walk")
  lu.assertEquals(s.params[2].type, "Entry")
  lu.assertNil(s.params[2].dtype)
end

function TestSignature:test_integer_spellings()
  local cases = {
    ["unsigned n"] = "u32", ["unsigned long long n"] = "u64", ["long unsigned int n"] = "u64",
    ["long long int n"] = "i64", ["signed char c"] = "i8", ["char c"] = "i8",
      ["unsigned char c"] = "u8",
    ["short int s"] = "i16", ["size_t n"] = "u64", ["uint16_t n"] = "u16", ["bool b"] = "bool",
  }
  for text, dtype in pairs(cases) do lu.assertEquals(first(text).dtype, dtype, text) end
end

function TestSignature:test_const_of_the_pointer_is_not_const_of_the_data()
  lu.assertFalse(first("float* const x").const)
  lu.assertTrue(first("float const* x").const)
  lu.assertTrue(first("const float x[]").pointer)
end

function TestSignature:test_no_parameters()
  lu.assertEquals(#signature.parse("void k()").params, 0)
  lu.assertEquals(#signature.parse("void k(void)").params, 0)
end

local function refuses(text, message, code)
  local ok, e = pcall(signature.parse, text, "here:1")
  lu.assertFalse(ok, text)
  lu.assertEquals(e.code, code or "syntax", text)
  lu.assertStrContains(e.message, message)
  lu.assertEquals(e.where, "here:1")
end

function TestSignature:test_refusals()
  refuses("saxpy", "cannot read the kernel signature 'saxpy'")
  refuses("int k(int n)", "must return void")
  refuses("void k(float*)", "has no name")
  refuses("void k(int n, int n)", "two parameters are called 'n'")
  refuses("void k(float** x)", "pointer to a pointer")
  refuses("void k(int n,)", "empty parameter")
  refuses("void k(Entry e)", "type 'Entry'", "unsupported")
  refuses("void k(flaot x)", "type 'flaot'", "unsupported")
  refuses("void k(float& x)", "cannot read '& x'")
end

function TestSignature:test_names_of_dtypes_are_spelled_as_in_c()
  local s = signature.parse("void k(const f16* x, bf16 *y, i64 f32, u8 n, Entry* e)")
  lu.assertEquals(s.text, "void k(const __half* x, __nv_bfloat16 *y, long long f32, "
    .. "unsigned char n, Entry* e)")
  lu.assertEquals(s.params[1].dtype, "f16")
  lu.assertEquals(s.by_name.f32.dtype, "i64")
  lu.assertEquals(signature.ctype "f8e4m3", "__nv_fp8_e4m3")
  local ok, e = pcall(signature.ctype, "f61")
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'f16'?")
end

function TestSignature:test_rendering_needs_no_headers()
  local s = signature.parse("void k(const int64_t* keys, uint8_t* out, size_t n)")
  lu.assertEquals(signature.render(s), 'extern "C" __global__ void k(const long long* keys, '
    .. "unsigned char* out, unsigned long long n)")
end

os.exit(lu.LuaUnit.run())
