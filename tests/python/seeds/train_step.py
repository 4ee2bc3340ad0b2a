# Create mesh for distributed execution
mesh = ts.dist.mesh(
    devices=[f"cuda:{i}" for i in range(8)],
    axes=("dp", "tp"),  # Data parallel and tensor parallel
    shape=(4, 2)        # 4-way DP, 2-way TP
)

# Distributed tensor with sharding
W = ts.dist.tensor(
    shape=(8192, 8192),
    layout=ts.ShardSpec(partition=("col",), mesh_axes=("tp",)),
    mesh=mesh,
    dtype="bf16 @accum(f32)"  # BF16 storage, FP32 accumulation
)

@ts.jit
@ts.autodiff
def train_step(x, y, W):
    """Training step with automatic gradient computation"""
    pred = ts.gemm(x, W)  # Automatically handles TP sharding
    loss = ts.mse(pred, y)
    return loss

# Gradients automatically handle distributed communication
grad_W = ts.grad(train_step)(x, y, W)
