import math

import tessera as ts

DEPTH = 64       # of a head
BASE = 10000.0   # of the rotary embedding


def rotary(S):
    """Cosines and sines of the angles [S, DEPTH/2] by which pairs of elements are rotated, slower from pair to pair."""
    pair = ts.cast(ts.arange(DEPTH // 2), ts.f32)
    frequency = ts.exp2(pair * (-2.0 * math.log2(BASE) / DEPTH))
    angle = ts.cast(ts.arange(S), ts.f32)[:, None] * frequency
    return ts.cos(angle), ts.sin(angle)


def rotate(x, cosine, sine):
    """The pairs are elements i and i + DEPTH/2."""
    a, b = ts.split(x, 2, axis=-1)
    return ts.concat((a * cosine - b * sine, b * cosine + a * sine), axis=-1)


def heads(x, W, H):
    """[B, S, D] by [D, H, DEPTH] -> [B, H, S, DEPTH]."""
    B, S, D = x.shape
    return ts.gemm(x, W.reshape(D, H * DEPTH)).reshape(B, S, H, DEPTH).transpose(0, 2, 1, 3)


@ts.jit
def llama_block(x: ts.Tensor["B", "S", "D", ts.f32],
                gamma1: ts.Tensor["D", ts.f32],
                Wq: ts.Tensor["D", "G", "R", DEPTH, ts.f32],
                Wk: ts.Tensor["D", "G", DEPTH, ts.f32],
                Wv: ts.Tensor["D", "G", DEPTH, ts.f32],
                Wo: ts.Tensor["G", "R", DEPTH, "D", ts.f32],
                gamma2: ts.Tensor["D", ts.f32],
                W_gate: ts.Tensor["D", "F", ts.f32],
                W_up: ts.Tensor["D", "F", ts.f32],
                W_down: ts.Tensor["F", "D", ts.f32]) -> ts.Tensor["B", "S", "D", ts.f32]:
    """A block of LLaMA: rms norms, rotary positions, G heads of keys and values for R query heads each, a SwiGLU MLP."""
    cosine, sine = rotary(S)
    n = ts.rms_norm(x, gamma1)
    q = rotate(heads(n, Wq, G * R), cosine, sine)
    k = rotate(heads(n, Wk, G), cosine, sine)
    y = ts.op.flash_attention(q, k, heads(n, Wv, G), is_causal=True)
    x = x + ts.gemm(y.transpose(0, 2, 1, 3).reshape(B, S, G * R * DEPTH), Wo.reshape(G * R * DEPTH, D))
    n = ts.rms_norm(x, gamma2)
    return x + ts.gemm(ts.silu(ts.gemm(n, W_gate)) * ts.gemm(n, W_up), W_down)
