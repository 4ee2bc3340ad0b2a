from tessera import dist

# Create a 72-GPU mesh: 4 (dp) × 9 (tp) × 2 (pp)
mesh = dist.mesh(
    devices=[f"cuda:{i}" for i in range(72)],
    axes=("dp","tp","pp"),
    shape=(4,9,2)
)

# Shard weights across tensor-parallel axis
W = dist.tensor(
    shape=(8192, 8192),
    layout=dist.ShardSpec(partition=("col",), mesh_axes=("tp",)),
    mesh=mesh,
    dtype="fp8_e4m3"
)

# Compute a distributed matmul
Y = gemm(X, W)   # compiler inserts all_gather/reduce_scatter on TP shards
