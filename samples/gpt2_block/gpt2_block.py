import tessera as ts


def attention(x, W_qkv, b_qkv, W_out, b_out):
    B, S, D = x.shape
    H, K = W_qkv.shape[2], W_qkv.shape[3]
    # One product for queries, keys and values of all heads: [B, S, 3, H, K] -> [3, B, H, S, K].
    qkv = ts.gemm(x, W_qkv.reshape(D, 3 * H * K)) + b_qkv.reshape(3 * H * K)
    qkv = qkv.reshape(B, S, 3, H, K).transpose(2, 0, 3, 1, 4)
    y = ts.op.flash_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
    return ts.gemm(y.transpose(0, 2, 1, 3).reshape(B, S, H * K), W_out.reshape(H * K, D)) + b_out


@ts.jit
def gpt2_block(x: ts.Tensor["B", "S", "D", ts.f32],
               gamma1: ts.Tensor["D", ts.f32], beta1: ts.Tensor["D", ts.f32],
               W_qkv: ts.Tensor["D", 3, "H", "K", ts.f32], b_qkv: ts.Tensor[3, "H", "K", ts.f32],
               W_out: ts.Tensor["H", "K", "D", ts.f32], b_out: ts.Tensor["D", ts.f32],
               gamma2: ts.Tensor["D", ts.f32], beta2: ts.Tensor["D", ts.f32],
               W_up: ts.Tensor["D", "F", ts.f32], b_up: ts.Tensor["F", ts.f32],
               W_down: ts.Tensor["F", "D", ts.f32], b_down: ts.Tensor["D", ts.f32]) -> ts.Tensor["B", "S", "D", ts.f32]:
    """A block of GPT-2: causal attention and an MLP, each after a layer norm and with a residual."""
    x = x + attention(ts.layer_norm(x, gamma1, beta1), W_qkv, b_qkv, W_out, b_out)
    n = ts.layer_norm(x, gamma2, beta2)
    h = ts.gelu(ts.gemm(n, W_up) + b_up, approximate="tanh")
    return x + ts.gemm(h, W_down) + b_down
