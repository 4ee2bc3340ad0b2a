from tessera import runtime

caps = runtime.capabilities()
# caps example:
# { "backend":"ptx", "tensorcore":{"fp16":True,"bf16":True,"fp8_e4m3":True},
#   "warp_size":32, "cp_async":True, "shared_bytes_per_block": 227_328 }

# Specialize code paths safely
if caps["tensorcore"].get("fp8_e4m3", False):
    Y = op.flash_attention_fp8(Q, K, V, scale="amax_dynamic")
else:
    Y = op.flash_attention(Q, K, V)  # bf16/fp16 with fp32 accum
