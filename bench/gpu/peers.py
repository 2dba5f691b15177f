#!/usr/bin/env python3
"""The figures of this folder under PyTorch (eager, torch.compile, mode="reduce-overhead") and JAX: the same work, timed
in the same way. Prints one line of JSON for each figure and variant.

    peers.py [cuda|cpu] [FIGURE...]
"""

import json
import os
import sys
import time

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
WANTED = sys.argv[2:]
FULL_SIZE = DEVICE != "cpu"
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def out(**row):
    print(json.dumps(row), flush=True)


def wall(run, finish, rounds):
    finish(None)
    start = time.perf_counter()
    last = None
    for _ in range(rounds):
        last = run()
    finish(last)
    return (time.perf_counter() - start) * 1000 / rounds


def figure(name, variant, run, finish, rounds):
    first = wall(run, finish, 1)
    wall(run, finish, max(rounds // 10, 3))
    runs = sorted(wall(run, finish, rounds) for _ in range(7))
    out(figure=name, variant=variant, ms=runs[3], first_ms=first)


def with_torch():
    import torch
    from torch import nn

    def chain(x):
        x = x * 2.0
        x = x + 1.0
        x = torch.sigmoid(x)
        x = x * x
        x = torch.tanh(x)
        return x / (x.abs() + 1.0)

    def row_sum(x):
        return (torch.sigmoid(x) * x).sum(dim=-1)

    def branchy(x):
        if x.sum() > 0:
            return x * 2
        return x + 1

    def finish(_):
        if FULL_SIZE:
            torch.cuda.synchronize()

    def compiled(f, variant):
        if variant == "eager":
            return f
        return torch.compile(f, mode="reduce-overhead" if variant == "reduce-overhead" else None)

    def of_one(f, *shape):
        def make(variant):
            x, g = torch.randn(*shape, device=DEVICE), compiled(f, variant)
            return lambda: g(x)
        return make

    def train(variant):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to(DEVICE)
        x, y = torch.randn(32, 512, device=DEVICE), torch.randn(32, 512, device=DEVICE)
        opt = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=FULL_SIZE)
        loss_of = compiled(lambda: nn.functional.mse_loss(model(x), y), variant)

        def step():
            if variant == "reduce-overhead":
                torch.compiler.cudagraph_mark_step_begin()
            loss = loss_of()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            return loss
        return step

    variants = ("eager", "compiled", "reduce-overhead")
    table = {
        "chain": (of_one(chain, 1 << 26 if FULL_SIZE else 1 << 18), variants, 20),
        "row_sum": (of_one(row_sum, *((8192, 4096) if FULL_SIZE else (256, 512))), variants, 50),
        "call": (of_one(chain, 1024), variants, 500),
        "branch": (of_one(branchy, 1024), variants[:2], 500),
        "train": (train, variants, 50),
    }
    out(peer="torch", version=torch.__version__, device=torch.cuda.get_device_name() if FULL_SIZE else "cpu")
    for name, (make, names, rounds) in table.items():
        if WANTED and name not in WANTED:
            continue
        for variant in names:
            torch._dynamo.reset()
            try:
                figure(name, "torch " + variant, make(variant), finish, rounds)
            except Exception as problem:
                out(figure=name, variant="torch " + variant, error=str(problem).split("\n")[0][:200])


def with_jax():
    import jax
    import jax.numpy as jnp

    if not FULL_SIZE:
        jax.config.update("jax_platforms", "cpu")

    def chain(x):
        z = jnp.tanh(jnp.square(jax.nn.sigmoid(x * 2.0 + 1.0)))
        return z / (jnp.abs(z) + 1.0)

    def row_sum(x):
        return (jax.nn.sigmoid(x) * x).sum(-1)

    key = jax.random.PRNGKey(0)

    def of_one(f, shape):
        x, g = jax.random.normal(key, shape), jax.jit(f)
        return lambda: g(x)

    def train():
        keys = jax.random.split(key, 4)
        params = [jax.random.normal(keys[0], (512, 1024)) * 0.04, jnp.zeros(1024),
                  jax.random.normal(keys[1], (1024, 512)) * 0.03, jnp.zeros(512)]
        x, y = jax.random.normal(keys[2], (32, 512)), jax.random.normal(keys[3], (32, 512))

        def loss_of(params, x, y):
            h = jax.nn.relu(x @ params[0] + params[1])
            return jnp.mean((h @ params[2] + params[3] - y) ** 2)

        @jax.jit
        def update(params, m, v, t, x, y):
            loss, grads = jax.value_and_grad(loss_of)(params, x, y)
            t = t + 1
            m = [0.9 * a + 0.1 * g for a, g in zip(m, grads)]
            v = [0.999 * a + 0.001 * g * g for a, g in zip(v, grads)]
            params = [p - 1e-3 * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8)
                      for p, a, b in zip(params, m, v)]
            return params, m, v, t, loss

        state = [params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params], jnp.zeros(())]

        def step():
            *state[:], loss = update(*state, x, y)
            return loss
        return step

    table = {
        "chain": (lambda: of_one(chain, (1 << 26 if FULL_SIZE else 1 << 18,)), 20),
        "row_sum": (lambda: of_one(row_sum, (8192, 4096) if FULL_SIZE else (256, 512)), 50),
        "call": (lambda: of_one(chain, (1024,)), 500),
        "train": (train, 50),
    }
    out(peer="jax", version=jax.__version__)
    for name, (make, rounds) in table.items():
        if WANTED and name not in WANTED:
            continue
        try:
            figure(name, "jax", make(), lambda last: last is None or jax.block_until_ready(last), rounds)
        except Exception as problem:
            out(figure=name, variant="jax", error=str(problem).split("\n")[0][:200])


def main():
    for name, run in (("torch", with_torch), ("jax", with_jax)):
        try:
            run()
        except ImportError as problem:
            out(peer=name, missing=str(problem))
        except Exception as problem:  # installed for another machine, or sees no device
            out(peer=name, missing=f"{type(problem).__name__}: {str(problem)[:200]}")


if __name__ == "__main__":
    main()
