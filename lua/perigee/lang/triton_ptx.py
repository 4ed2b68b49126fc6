"""Compiles the Triton kernels of a source to one PTX text; run by perigee with the user's Python.

    python triton_ptx.py SOURCE ARCH [NAME=VALUE ...]    ARCH is 80, 90, ...; names are constants

Prints the PTX. Its first line is the argument map as JSON: for each kernel the names of its
arguments in order (null for a scratch pointer of Triton's own), its warps, its shared memory and
what else the source's LAUNCH says of it. The folder of SOURCE is on the path of imports.
"""

import importlib.util
import json
import linecache
import os
import re
import sys
import tempfile
import traceback
import warnings

# A cache of this run's own: no candidate leaves kernels for the next. What a killed run leaves lies
# in the folder that it runs in.
scratch = tempfile.TemporaryDirectory(dir=os.getcwd())
os.environ["TRITON_CACHE_DIR"] = os.environ["TMPDIR"] = scratch.name
warnings.filterwarnings("ignore")

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompilationError

PTX_MOST = 90  # the newest PTX version that common drivers accept: 9.0
TARGET_FIELDS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def load(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fail(text):
    sys.exit("triton: " + text)


def in_function(error, path):
    """Line, column and message of a CompilationError: of the innermost function that is in the
    source, which may call others of its own or of Triton's."""
    with open(path, encoding="utf-8", errors="replace") as file:
        whole = file.read()
    line, column, message = None, None, ""
    while isinstance(error, CompilationError):
        message = error.error_message or message
        at = whole.find(error.src.rstrip()) if error.src else -1
        if at >= 0 and hasattr(error.node, "lineno"):
            line, column = whole.count("\n", 0, at) + error.node.lineno, error.node.col_offset
        error = error.__cause__
    return path, line, column, message


def told(error, path):
    """What the source did wrong, as other compilers say it; None where it was not the source."""
    folder = os.path.dirname(os.path.abspath(path)) + os.sep
    if isinstance(error, CompilationError):
        file, line, column, message = in_function(error, path)
    elif isinstance(error, SyntaxError):
        file, line, column, message = error.filename, error.lineno, (error.offset or 1) - 1, error.msg
    else:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(folder)]
        file, line = (frames[-1].filename, frames[-1].lineno) if frames else (None, None)
        column, message = None, f"{type(error).__name__}: {error}"
    if not line or not os.path.abspath(file).startswith(folder):
        return None
    text = linecache.getline(file, line).rstrip("\n")
    caret = "" if column is None else " " * column + "^\n"
    return f"{os.path.basename(file)}({line}): error: {message}\n{text}\n{caret}"


def kernels_of(module):
    """The kernels of a source: those in LAUNCH, else every jit function of its own whose parameters
    all have types."""
    launch = getattr(module, "LAUNCH", {})
    found = {}
    for name, value in vars(module).items():
        if not isinstance(value, triton.runtime.jit.JITFunction) or value.fn.__module__ != "candidate":
            continue
        typed = all(p.is_constexpr or isinstance(p.annotation, str) and p.annotation for p in value.params)
        if name in launch or (not launch and typed):
            found[name] = value
    for name in launch:
        if name not in found:
            fail(f"LAUNCH names '{name}', which is no @triton.jit function of the source")
    if not found:
        fail("no kernel: annotate the parameters of a @triton.jit function with types, "
             'e.g. x: "*fp32", n: "i32", BLOCK: tl.constexpr = 256')
    return found, launch


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"True": True, "False": False, "true": True, "false": False}.get(text, text)


def compile_one(kernel, arch, launch, given):
    signature, constants, arguments, attributes = {}, {}, [], {}
    for place, p in enumerate(kernel.params):
        if p.is_constexpr:
            if p.name in given:
                constants[p.name] = given[p.name]
            elif p.has_default:
                constants[p.name] = p.default
            else:
                fail(f"constant '{p.name}' of {kernel.__name__} has no value: give it a default")
            signature[p.name] = "constexpr"
            continue
        signature[p.name] = str(p.annotation)
        if not re.fullmatch(r"\*?(i1|[iu](8|16|32|64)|fp(16|32|64)|bf16|fp8\w+)", signature[p.name]):
            fail(f"parameter '{p.name}' of {kernel.__name__} has type {signature[p.name]!r}; "
                 'write e.g. "*fp32", "i32"')
        arguments.append(p.name)
        if signature[p.name].startswith("*"):
            attributes[(place,)] = [["tt.divisibility", 16]]  # buffers are aligned
    options = {k: v for k, v in {**launch, **given}.items() if k in TARGET_FIELDS}
    source = ASTSource(kernel, signature=signature, constexprs=constants, attrs=attributes)
    target = GPUTarget("cuda", arch, 32)
    built = triton.compile(source, target=target, options=options)
    version = re.search(r"^\.version (\d+)\.(\d+)", built.asm["ptx"], re.M)
    if int(version[1]) * 10 + int(version[2]) > PTX_MOST:
        built = triton.compile(source, target=target, options={**options, "ptx_version": PTX_MOST})
    meta = built.metadata
    if getattr(meta, "global_scratch_size", 0) or getattr(meta, "profile_scratch_size", 0):
        fail(f"{kernel.__name__} needs scratch memory of Triton's own, which is not passed")
    text = built.asm["ptx"]
    passed = len(re.search(r"\.entry\s+\w+\((.*?)\)", text, re.S)[1].split(","))
    arguments += [None] * (passed - len(arguments))
    facts = {**launch, "args": arguments, "num_warps": meta.num_warps, "shared": meta.shared,
             "constants": constants}
    return text, facts


def rename_symbols(text, prefix):
    """Module variables get the kernel's name, so that several kernels fit into one module."""
    names = set(re.findall(r"^\.(?:visible |extern )?(?:global|shared|const)\b[^;{]*?\b([A-Za-z_$][\w$]*)\s*(?:\[|=|;)",
                           text, re.M))
    for name in names:
        if name != "global_smem":
            text = re.sub(r"(?<![\w$])" + re.escape(name) + r"(?![\w$])", f"{prefix}_{name}", text)
    return text


def without_asm_lines(text):
    """LLVM numbers the lines of inline assembly on from the line that it stands on."""
    return re.sub(r"// begin inline asm\n.*?// end inline asm",
                  lambda m: re.sub(r"^\s*\.loc[^\n]*\n", "", m[0], flags=re.M), text, flags=re.S)


def merge(texts, folder):
    """Several PTX modules as one: one head, files numbered anew, no debug sections, no paths."""
    files, bodies, version = [], [], (0, 0)
    target = re.search(r"^\.target[^\n]*", next(iter(texts.values())), re.M)[0]
    shared = False
    for name, text in texts.items():
        found = re.search(r"^\.version (\d+)\.(\d+)", text, re.M)
        version = max(version, (int(found[1]), int(found[2])))
        numbers = {}
        for number_, path in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M):
            short = os.path.relpath(path, folder) if path.startswith("/") else path
            short = os.path.basename(path) if short.startswith("..") else short
            if short not in files:
                files.append(short)
            numbers[number_] = files.index(short) + 1
        text = without_asm_lines(text)
        text = re.sub(r"^\s*\.section\s+\.debug.*?^\s*\}\s*?$", "", text, flags=re.M | re.S)
        text = re.sub(r"^\s*\.file\s[^\n]*\n", "", text, flags=re.M)
        text = re.sub(r"^\s*\.section\s+\.debug_macinfo\s*\{\s*\}\s*\n", "", text, flags=re.M)
        text = re.sub(r"^\.(version|target|address_size)[^\n]*\n", "", text, flags=re.M)
        text = re.sub(r"^(\s*\.loc\s+)(\d+)", lambda m: m[1] + str(numbers.get(m[2], 1)), text, flags=re.M)
        # Where code was inlined is named by labels in the debug sections, which are gone.
        text = re.sub(r"^(\s*\.loc[^\n,]*),[^\n]*", r"\1", text, flags=re.M)
        text = re.sub(r"[ \t]*//[^\n]*", "", text)
        line = re.search(r"^\.extern \.shared[^\n]*global_smem[^\n]*\n", text, re.M)
        if line:
            text = text.replace(line[0], "" if shared else line[0])
            shared = True
        bodies.append(re.sub(r"\n\s*\n+", "\n", rename_symbols(text, name)).strip())
    head = f".version {version[0]}.{version[1]}\n{target}\n.address_size 64\n"
    named = "".join(f'.file {i + 1} "{path}"\n' for i, path in enumerate(files))
    return head + "\n" + "\n\n".join(bodies) + "\n" + named


def main(path, arch, *pairs):
    given = {name: number(value) for name, value in (pair.split("=", 1) for pair in pairs)}
    module = load(path)
    found, launch = kernels_of(module)
    texts, facts = {}, {}
    for name, kernel in found.items():
        texts[name], facts[name] = compile_one(kernel, int(arch), launch.get(name, {}), given)
    print("// triton: " + json.dumps(facts, sort_keys=True))
    print("// compiler: Triton " + triton.__version__)
    print(merge(texts, os.path.dirname(os.path.abspath(path))))


try:
    main(*sys.argv[1:])
except Exception as error:
    text = told(error, sys.argv[1])
    if text is None:
        raise
    sys.exit(text)
