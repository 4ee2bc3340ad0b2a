# Explicit precision control
x: Tensor["B", "D", fp8_e4m3 @accum(fp32) @loss_scale(128.0)]
