import tessera as ts

HEADS, KV_HEADS = 8, 2  # of the bf16 block: four query heads share one key and value head


def split_heads(x, W):
    """[B, S, D] by [D, H, K] -> [B, H, S, K]."""
    B, S, D = x.shape
    H, K = W.shape[1], W.shape[2]
    return ts.gemm(x, W.reshape(D, H * K)).reshape(B, S, H, K).transpose(0, 2, 1, 3)


def join_heads(y, W):
    """[B, H, S, K] by [H, K, D] -> [B, S, D]."""
    B, H, S, K = y.shape
    return ts.gemm(y.transpose(0, 2, 1, 3).reshape(B, S, H * K), W.reshape(H * K, -1))


@ts.jit
def block(x: ts.Tensor["B", "S", "D", ts.f32],
          gamma1: ts.Tensor["D", ts.f32], beta1: ts.Tensor["D", ts.f32],
          Wq: ts.Tensor["D", "H", "K", ts.f32],
          Wk: ts.Tensor["D", "H", "K", ts.f32],
          Wv: ts.Tensor["D", "H", "K", ts.f32],
          Wo: ts.Tensor["H", "K", "D", ts.f32],
          gamma2: ts.Tensor["D", ts.f32], beta2: ts.Tensor["D", ts.f32],
          W1: ts.Tensor["D", "F", ts.f32], b1: ts.Tensor["F", ts.f32],
          W2: ts.Tensor["F", "D", ts.f32], b2: ts.Tensor["D", ts.f32]) -> ts.Tensor["B", "S", "D", ts.f32]:
    """Pre-norm block: causal attention, then a gelu MLP, each with its residual."""
    n = ts.layer_norm(x, gamma1, beta1)
    y = ts.op.flash_attention(split_heads(n, Wq), split_heads(n, Wk), split_heads(n, Wv), is_causal=True)
    x = x + join_heads(y, Wo)
    n = ts.layer_norm(x, gamma2, beta2)
    h = ts.gelu(ts.gemm(n, W1) + b1, approximate="tanh")
    return x + ts.gemm(h, W2) + b2


@ts.jit
def block_bf16(x: ts.Tensor["B", "S", "D", ts.bf16],
               gamma1: ts.Tensor["D", ts.bf16],
               Wq: ts.Tensor["D", HEADS, "K", ts.bf16],
               Wk: ts.Tensor["D", KV_HEADS, "K", ts.bf16],
               Wv: ts.Tensor["D", KV_HEADS, "K", ts.bf16],
               Wo: ts.Tensor[HEADS, "K", "D", ts.bf16],
               gamma2: ts.Tensor["D", ts.bf16],
               Wg: ts.Tensor["D", "F", ts.bf16],
               Wu: ts.Tensor["D", "F", ts.bf16],
               Wd: ts.Tensor["F", "D", ts.bf16]) -> ts.Tensor["B", "S", "D", ts.bf16]:
    """The same shape of block in bf16 with grouped heads, rms norms and a gated silu MLP; products sum in f32."""
    n = ts.rms_norm(x, gamma1)
    y = ts.op.flash_attention(split_heads(n, Wq), split_heads(n, Wk), split_heads(n, Wv), is_causal=True)
    x = x + join_heads(y, Wo)
    n = ts.rms_norm(x, gamma2)
    return x + ts.gemm(ts.silu(ts.gemm(n, Wg)) * ts.gemm(n, Wu), Wd)
