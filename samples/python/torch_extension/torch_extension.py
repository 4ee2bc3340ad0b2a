"""An operation for PyTorch, with its derivative: two kernels inside a torch.autograd.Function. It is used in a small network, whose
gradients are compared with PyTorch's own. The tensors are passed as they are, without copies."""
# mypy: disable-error-code="name-defined, valid-type, type-arg, index, no-untyped-def, override, no-untyped-call"
import sys
import time
from typing import Any

import tessera as ts

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(0)


@ts.kernel
def swish(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 256):
        y[i:i+256] = x[i:i+256] * ts.tile.sigmoid(x[i:i+256])


@ts.kernel
def swish_backward(x: ts.Tensor["n", ts.f32], dy: ts.Tensor["n", ts.f32], dx: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 256):
        s = ts.tile.sigmoid(x[i:i+256])
        dx[i:i+256] = dy[i:i+256] * s * (1.0 + x[i:i+256] * (1.0 - s))


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x = x.detach().contiguous()  # a tensor that requires a gradient is not exported
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        swish(x.view(-1), y.view(-1))
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        swish_backward(x.view(-1), dy.contiguous().view(-1), dx.view(-1))
        return dx


def main() -> None:
    torch.manual_seed(1)
    for shape in ((1,), (7, 33), (64, 1000)):
        x = torch.randn(*shape, requires_grad=True)
        Swish.apply(x).square().sum().backward()
        got: Any = x.grad
        x.grad = None
        torch.nn.functional.silu(x.double()).square().sum().backward()
        want: Any = x.grad
        assert torch.allclose(got, want, rtol=1e-5, atol=1e-5)
        print(f"torch_extension {list(shape)}: {x.numel()} gradients right")

    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.rand(256, 16)
    y = x.square().mean(1, keepdim=True)
    losses = []
    start = time.perf_counter()
    for _ in range(100):
        loss = (model[1](Swish.apply(model[0](x))) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 10, losses
    print(f"torch_extension: the loss falls from {losses[0]:.3f} to {losses[-1]:.4f} in {time.perf_counter() - start:.2f} s; right")


if __name__ == "__main__":
    main()
