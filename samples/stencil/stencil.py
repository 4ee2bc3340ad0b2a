import tessera as ts

ROWS, COLS = 32, 128


@ts.kernel
def diffuse(U: ts.Tensor["H", "W", ts.f32], V: ts.Tensor["H", "W", ts.f32], k: ts.f32):
    """One step of explicit diffusion by the 5-point Laplacian. V keeps its values at the border.

    Tiles begin inside the first row and column. At the last ones a neighbour is out of bounds, so that the sum is masked and
    not stored: no code for the border."""
    for r in ts.tile.parallel(1, H - 1, ROWS):
        for c in ts.tile.parallel(1, W - 1, COLS):
            u = U[r:r+ROWS, c:c+COLS]
            around = (U[r-1:r-1+ROWS, c:c+COLS] + U[r+1:r+1+ROWS, c:c+COLS]
                      + U[r:r+ROWS, c-1:c-1+COLS] + U[r:r+ROWS, c+1:c+1+COLS])
            V[r:r+ROWS, c:c+COLS] = u + k * (around - 4.0 * u)


@ts.jit
def stencil(U: ts.Tensor["H", "W", ts.f32], k: ts.f32) -> ts.Tensor["H", "W", ts.f32]:
    """Eight steps, from one grid to the other and back."""
    V = U + 0.0  # a copy: its border
    for step in range(4):
        diffuse(U, V, k)
        diffuse(V, U, k)
    return U
