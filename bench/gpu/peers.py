"""Programs of other libraries that speed.py times beside PyTorch's default: Triton, cuDNN's attention, PyTorch's products of fp8.

Each function returns {name: program} of the peers that this machine has; a program returns its result. ABSENT has the others, with the reason."""
import torch
import torch.nn.functional as F

ABSENT = {}

try:
    import triton
    import triton.language as tl
except ImportError as e:
    triton = None
    ABSENT["triton"] = str(e)

try:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    CUDNN = SDPBackend.CUDNN_ATTENTION
except (ImportError, AttributeError) as e:
    CUDNN = None
    ABSENT["cudnn"] = f"this PyTorch cannot choose it: {e}"
if CUDNN is not None and not torch.backends.cudnn.is_available():
    CUDNN = None
    ABSENT["cudnn"] = "torch.backends.cudnn.is_available() is false"

HAS_FP8 = hasattr(torch, "_scaled_mm") and torch.cuda.get_device_capability() >= (8, 9)
if not HAS_FP8:
    ABSENT["scaled_mm"] = "torch._scaled_mm needs PyTorch 2.1 and a GPU of compute capability 8.9"

if triton:
    # Tiles that Triton's own tutorial tries for products of 16 bits.
    @triton.autotune(configs=[triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_stages=stages, num_warps=warps)
                              for m, n, k, stages, warps in ((128, 256, 64, 3, 8), (128, 128, 64, 4, 8), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4),
                                                             (64, 128, 32, 4, 4), (64, 64, 64, 4, 4), (16, 128, 64, 5, 4))],
                     key=["M", "N", "K"])
    @triton.jit
    def triton_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
        program = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        # Programs that run together share rows of A: GROUP rows of tiles at a time.
        first = program // (GROUP * columns) * GROUP
        height = min(rows - first, GROUP)
        m = (first + program % (GROUP * columns) % height) * BM + tl.arange(0, BM)
        n = program % (GROUP * columns) // height * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for at in range(0, K, BK):
            k = at + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
            y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
            total = tl.dot(x, y, total)
        tl.store(c + m[:, None] * N + n[None, :], total.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


def products(a, b):
    """A @ B of row-major bf16."""
    if not triton:
        return {}
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def run():
        triton_product[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](a, b, c, m, n, k)
        return c
    return {"triton": run}


def attention(q, k, v, causal):
    if CUDNN is None:
        return {}

    def run():
        with sdpa_kernel(CUDNN):
            return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]
    return {"cudnn": run}


def fp8_products(a, b):
    """A @ B.T of fp8, both stored along k, with sums as exact as cuBLAS offers."""
    if not HAS_FP8:
        return {}
    one = torch.ones((), device="cuda")
    return {"scaled_mm": lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=False)}
