from tessera import runtime, op

caps = runtime.capabilities()
if caps["tensorcore"].get("fp8_e4m3", False):
    # NVIDIA Hopper path (or other FP8‑capable)
    Y = op.flash_attention_fp8(Q, K, V, scale="amax_dynamic")
else:
    # Portable path (bf16/fp16 → fp32 accum)
    Y = op.flash_attention(Q, K, V, causal=True)
