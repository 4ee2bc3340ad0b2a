"""Kernels in the tile language, called on arrays. docs/python.md is the guide."""
from builtins import int as _int, str as _str
from typing import Any as _Any, Final as _Final

from tessera import autotune as autotune, dist as dist, group as group, numerics as numerics, op as op, profiler as profiler
from tessera import runtime as runtime, testing as testing, tile as tile
from tessera._core import Array as Array, Event as Event, Stream as Stream
from tessera._dtypes import (
    DType as DType,
    Strides as strides,
    Tensor as Tensor,
    accum as accum,
    loss_scale as loss_scale,
    round as round,
)
from tessera._dtypes import DType as _DType
from tessera._errors import (
    ArgumentError as ArgumentError,
    BackendError as BackendError,
    CompileError as CompileError,
    DeviceError as DeviceError,
    Diagnostic as Diagnostic,
    Error as Error,
    OutOfMemoryError as OutOfMemoryError,
    TimeoutError as TimeoutError,
    UnsupportedError as UnsupportedError,
)
from tessera._interop import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    zeros as zeros,
    zeros_like as zeros_like,
)
from tessera._mapper import Mapper as Mapper
from tessera._kernel import Kernel as Kernel, compile as compile, jit as jit, kernel as kernel, load as load

__version__: _Final[_str]
rne: _Final[_str]

def cdiv(a: _int, b: _int) -> _int: ...

# Not built: calling one raises UnsupportedError.
def autodiff(*args: _Any, **kwargs: _Any) -> _Any: ...
def grad(*args: _Any, **kwargs: _Any) -> _Any: ...
def value_and_grad(*args: _Any, **kwargs: _Any) -> _Any: ...
def vjp(*args: _Any, **kwargs: _Any) -> _Any: ...
def jvp(*args: _Any, **kwargs: _Any) -> _Any: ...
def hvp(*args: _Any, **kwargs: _Any) -> _Any: ...
def custom_vjp(*args: _Any, **kwargs: _Any) -> _Any: ...
def custom_jvp(*args: _Any, **kwargs: _Any) -> _Any: ...
def checkpoint(*args: _Any, **kwargs: _Any) -> _Any: ...
def stop_gradient(*args: _Any, **kwargs: _Any) -> _Any: ...
def scan(*args: _Any, **kwargs: _Any) -> _Any: ...
def cond(*args: _Any, **kwargs: _Any) -> _Any: ...
def while_loop(*args: _Any, **kwargs: _Any) -> _Any: ...
def index_launch(*args: _Any, **kwargs: _Any) -> _Any: ...
def ShardSpec(*args: _Any, **kwargs: _Any) -> _Any: ...
def read(*args: _Any, **kwargs: _Any) -> _Any: ...
def write(*args: _Any, **kwargs: _Any) -> _Any: ...
def readwrite(*args: _Any, **kwargs: _Any) -> _Any: ...
def point(*args: _Any, **kwargs: _Any) -> _Any: ...

# made by python/tools/stubs.py: dtypes
bf16: _Final[_DType]
bfloat16: _Final[_DType]
bool: _Final[_DType]
bool_: _Final[_DType]
boolean: _Final[_DType]
double: _Final[_DType]
e2m1: _Final[_DType]
e2m3: _Final[_DType]
e3m2: _Final[_DType]
e4m3: _Final[_DType]
e5m2: _Final[_DType]
f16: _Final[_DType]
f32: _Final[_DType]
f4_e2m1: _Final[_DType]
f64: _Final[_DType]
f6_e2m3: _Final[_DType]
f6_e3m2: _Final[_DType]
f8: _Final[_DType]
f8_e4m3: _Final[_DType]
f8_e5m2: _Final[_DType]
float: _Final[_DType]
float16: _Final[_DType]
float32: _Final[_DType]
float4_e2m1fn: _Final[_DType]
float64: _Final[_DType]
float6_e2m3fn: _Final[_DType]
float6_e3m2fn: _Final[_DType]
float8_e4m3: _Final[_DType]
float8_e4m3fn: _Final[_DType]
float8_e5m2: _Final[_DType]
fp16: _Final[_DType]
fp32: _Final[_DType]
fp4: _Final[_DType]
fp4_e2m1: _Final[_DType]
fp6: _Final[_DType]
fp64: _Final[_DType]
fp6_e2m3: _Final[_DType]
fp6_e3m2: _Final[_DType]
fp8: _Final[_DType]
fp8_e4m3: _Final[_DType]
fp8_e4m3fn: _Final[_DType]
fp8_e5m2: _Final[_DType]
half: _Final[_DType]
i1: _Final[_DType]
i16: _Final[_DType]
i32: _Final[_DType]
i4: _Final[_DType]
i64: _Final[_DType]
i8: _Final[_DType]
int16: _Final[_DType]
int32: _Final[_DType]
int4: _Final[_DType]
int64: _Final[_DType]
int8: _Final[_DType]
tf32: _Final[_DType]
u16: _Final[_DType]
u32: _Final[_DType]
u4: _Final[_DType]
u64: _Final[_DType]
u8: _Final[_DType]
uint16: _Final[_DType]
uint32: _Final[_DType]
uint4: _Final[_DType]
uint64: _Final[_DType]
uint8: _Final[_DType]
# end

# made by python/tools/stubs.py: names
from tessera.op import (
    all as all,
    all_gather as all_gather,
    all_reduce as all_reduce,
    any as any,
    bincount as bincount,
    broadcast_to as broadcast_to,
    cross_entropy as cross_entropy,
    einsum as einsum,
    embedding as embedding,
    flash_attention as flash_attention,
    gather as gather,
    gather_elements as gather_elements,
    gather_nd as gather_nd,
    gelu as gelu,
    gemm as gemm,
    layer_norm as layer_norm,
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    matmul as matmul,
    mean as mean,
    mse as mse,
    norm as norm,
    one_hot as one_hot,
    pad as pad,
    reduce_scatter as reduce_scatter,
    relu as relu,
    repeat as repeat,
    rms_norm as rms_norm,
    roll as roll,
    scatter as scatter,
    scatter_elements as scatter_elements,
    scatter_nd as scatter_nd,
    silu as silu,
    softmax as softmax,
    stack as stack,
    std as std,
    take as take,
    take_along_axis as take_along_axis,
    tril as tril,
    triu as triu,
    var as var,
)
from tessera.tile import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    alloc_shared as alloc_shared,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    asin as asin,
    asinh as asinh,
    assert_ as assert_,
    associative_scan as associative_scan,
    assume as assume,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    atomic_add as atomic_add,
    atomic_cas as atomic_cas,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    atomic_xchg as atomic_xchg,
    barrier as barrier,
    bitcast as bitcast,
    broadcast as broadcast,
    cast as cast,
    causal_mask as causal_mask,
    cbrt as cbrt,
    ceil as ceil,
    clamp as clamp,
    clip as clip,
    clz as clz,
    commit_group as commit_group,
    concat as concat,
    context as context,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    cp_async as cp_async,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
    erf as erf,
    erfc as erfc,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    fence as fence,
    fill_masked as fill_masked,
    flip as flip,
    floor as floor,
    fma as fma,
    fmod as fmod,
    grid as grid,
    group_id as group_id,
    group_size as group_size,
    histogram as histogram,
    hypot as hypot,
    interleave as interleave,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    join as join,
    lane_id as lane_id,
    linear_id as linear_id,
    local_id as local_id,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    mask as mask,
    max as max,
    maximum as maximum,
    min as min,
    minimum as minimum,
    mma as mma,
    parallel as parallel,
    permute as permute,
    popcount as popcount,
    pow as pow,
    prefetch as prefetch,
    print as print,
    prod as prod,
    rand as rand,
    rand4x as rand4x,
    randint as randint,
    randn as randn,
    range as range,
    reduce as reduce,
    reshape as reshape,
    row_max as row_max,
    row_min as row_min,
    row_sum as row_sum,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sort as sort,
    split as split,
    sqrt as sqrt,
    static_range as static_range,
    store as store,
    sum as sum,
    tan as tan,
    tanh as tanh,
    topk as topk,
    transpose as transpose,
    trunc as trunc,
    umulhi as umulhi,
    wait_group as wait_group,
    where as where,
)
# end
