"""SPIR-V as emulated code: Khronos' translator reads the very words that a driver would get back into LLVM IR, and this compiles
them for the host, with OpenCL's functions replaced by calls of the emulator. What the compiler believes of its SPIR-V has no part in it.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

TRANSLATOR = "llvm-spirv-15"
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
BUILTINS = pathlib.Path(__file__).with_name("Builtins.cpp")
# LLVM quotes a name with a $, which that of a variant has.
KERNEL = re.compile(r'^define spir_kernel void @("?)(tsr_kernel_[\w$]+)\1\((.*?)\) .*\{$', re.MULTILINE)
# Of sub-groups of 16 lanes, to whom a row of A is words of 16 bits.
PRODUCT = re.compile(r"intel_sub_group_(bf16|f16|i8|u8)_\1_matrix_mad_k\d+Dv8_[st]")
BLOCK_READ = re.compile(r"__builtin_IB_subgroup_block_read_flat_(\w+)")
# OpenCL's convert_TYPE(x): whether the element of a mangled vector is signed.
SIGNED = {"c": True, "h": False, "s": True, "t": False, "i": True, "j": False, "l": True, "m": False}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[:2000]}")
    return done.stdout


def without_scalar_nulls(text):
    """SPIR-V text with 0 and false for OpConstantNull of scalars, which this version of the translator does not read."""
    types = dict(re.findall(r"(%\d+) = (OpType(?:Int|Float|Bool)\b)", text))

    def constant(match):
        kind = types.get(match[2])
        if not kind:
            return match[0]
        return f"{match[1]} = " + (f"OpConstantFalse {match[2]}" if kind == "OpTypeBool" else f"OpConstant {match[2]} 0")

    return re.sub(r"(%\d+) = OpConstantNull (%\d+)", constant, text)


def to_ir(image, folder):
    """LLVM IR, as text, of a SPIR-V file."""
    text, words, bitcode = folder / "kernel.spvasm", folder / "kernel.spv", folder / "kernel.bc"
    text.write_text(without_scalar_nulls(run("spirv-dis", "--raw-id", "--no-color", image)))
    run("spirv-as", "--target-env", "spv1.2", "--preserve-numeric-ids", text, "-o", words)
    run(TRANSLATOR, "-r", words, "-o", bitcode)
    return run(LLVM / "llvm-dis", bitcode, "-o", "-")


def vector_function(declaration):
    """The body of a declared function of vectors: convert_*, fma, products of matrices and block reads."""
    to, name, parameters = re.match(r"declare (?:spir_func )?(<.*?>) @(\w+)\((.*?)\)", declaration).groups()
    if read := BLOCK_READ.search(name):
        return block_function(read[1], name, to)
    types = re.findall(r"<\d+ x \w+>", parameters)
    arguments = ", ".join(f"{type} %{i}" for i, type in enumerate(types))
    if product := PRODUCT.search(name):
        return product_function(product[1], name, to, types, arguments)
    if "convert_" in name:
        isFloat = "half" in types[0] or "float" in types[0]
        operation = "fpext" if isFloat else "sext" if SIGNED[name[-1]] else "zext"
        body = f"{operation} {types[0]} %0 to {to}"
    elif name.startswith("_Z3fma"):
        count, element = re.match(r"<(\d+) x (\w+)>", to).groups()
        body = f"call {to} @llvm.fma.v{count}{ {'float': 'f32', 'half': 'f16', 'double': 'f64'}[element] }({arguments})"
    else:
        raise RuntimeError(f"no body for {declaration}")
    return f"define internal {to} @{name}({arguments}) {{\n  %r = {body}\n  ret {to} %r\n}}"


def product_function(dtype, name, to, types, arguments):
    """The body of a product of matrices: Builtins.cpp does it in memory."""
    places = [f"  %p{i} = alloca {type}\n  store {type} %{i}, ptr %p{i}" for i, type in enumerate(types)]
    return "\n".join([f"declare void @multiply_{dtype}(ptr, ptr, ptr)", f"define internal {to} @{name}({arguments}) {{", *places,
                      f"  call void @multiply_{dtype}(ptr %p0, ptr %p1, ptr %p2)", f"  %r = load {to}, ptr %p2", f"  ret {to} %r", "}"])


def block_function(read, name, to):
    """The body of a block read: Builtins.cpp does it in memory."""
    return "\n".join([f"declare void @read_{read}(i64, i32, i32, i32, i32, i32, ptr)",
                      f"define internal {to} @{name}(i64 %a, i32 %w, i32 %h, i32 %p, <2 x i32> %at) {{",
                      "  %x = extractelement <2 x i32> %at, i32 0", "  %y = extractelement <2 x i32> %at, i32 1", f"  %to = alloca {to}",
                      f"  call void @read_{read}(i64 %a, i32 %w, i32 %h, i32 %p, i32 %x, i32 %y, ptr %to)", f"  %r = load {to}, ptr %to",
                      f"  ret {to} %r", "}"])


def entry(name, parameters):
    """The entry of the emulated image: takes the parameters, 8 bytes each, from an array."""
    lines, given = [f'define void @"{name}"(ptr %values) {{'], []
    for i, parameter in enumerate(re.findall(r"(ptr|float|double|half|i\d+)\b[^,]*", parameters)):
        lines += [f"  %a{i} = getelementptr i64, ptr %values, i64 {i}", f"  %v{i} = load {parameter}, ptr %a{i}"]
        given.append(f"{parameter} %v{i}")
    return "\n".join([*lines, f"  call void @\"body_{name}\"({', '.join(given)})", "  ret void", "}"])


def for_host(ir):
    """`ir` with one address space, its kernels behind entries for the emulator, and their shared memory from the emulator."""
    shared = re.findall(r"^@(\w+) = internal addrspace\(3\) global .*$", ir, re.MULTILINE)
    if len(shared) > 1:
        raise RuntimeError(f"several variables of shared memory: {shared}")
    ir = re.sub(r"^@\w+ = internal addrspace\(3\) global .*$", "declare ptr @tsr_emu_shared(i64)", ir, flags=re.MULTILINE)
    for name in shared:
        ir = ir.replace(f"@{name}", "%shared")
    ir = re.sub(r"^target .*\n", "", ir, flags=re.MULTILINE)
    ir = re.sub(r" ?addrspace\(\d\)", "", ir).replace("addrspacecast", "bitcast")
    kernels = KERNEL.findall(ir)
    if len(kernels) != ir.count("define spir_kernel "):  # without an entry, the emulator would call it with other arguments
        raise RuntimeError("a kernel's first line is not understood")
    ir = KERNEL.sub(lambda m: m[0] + ("\n  %shared = call ptr @tsr_emu_shared(i64 0)" if shared else ""), ir)
    ir = re.sub(r"^declare (?:spir_func )?<.*$", lambda m: vector_function(m[0]), ir, flags=re.MULTILINE)
    ir = re.sub(r"\bspir_(?:kernel|func) ", "", ir)
    ir = re.sub(r'^define void @("?)(tsr_kernel_)', r"define internal void @\1body_\2", ir, flags=re.MULTILINE)
    return ir + "\n".join(entry(name, parameters) for _, name, parameters in kernels) + "\n"


def read_back(image, emulated):
    """Writes the shared object `emulated` that does what the SPIR-V in `image` says."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source, made = folder / "host.ll", folder / "host.so"
        source.write_text(for_host(to_ir(image, folder)))
        run("clang++-22", "-shared", "-fPIC", "-O1", "-march=native", "-w", "-ffp-contract=off", "-fno-builtin", BUILTINS, source, "-o", made)
        shutil.move(made, emulated)
