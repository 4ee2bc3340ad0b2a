import tessera as ts

SOFTENING = 1e-4  # keeps the force of close bodies finite, and a body's force on itself 0


@ts.kernel
def n_body(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], z: ts.Tensor["n", ts.f32], mass: ts.Tensor["n", ts.f32],
           ax: ts.Tensor["n", ts.f32], ay: ts.Tensor["n", ts.f32], az: ts.Tensor["n", ts.f32]):
    """The gravitational acceleration of each body by all others: a lane per body, a loop over the bodies."""
    i = ts.tile.linear_id()
    if i < n:
        fx, fy, fz = 0.0, 0.0, 0.0
        for j in range(n):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            inverse = ts.rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = mass[j] * inverse * inverse * inverse
            fx += pull * dx
            fy += pull * dy
            fz += pull * dz
        ax[i] = fx
        ay[i] = fy
        az[i] = fz
