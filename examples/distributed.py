"""A small GPT trained on four ranks; kill one, and it goes on from the last checkpoint.

    wengert run --nproc 4 --max-restarts 3 examples/distributed.py --folder run
    wengert run --nproc 4 --max-restarts 3 examples/distributed.py --folder run --kill 12

Each rank reads its share of ten sonnets, and the gradients are averaged, so that all ranks have the
same weights, to the last bit. Adam's state is divided among them. Every five steps all of them
write a checkpoint. With `--kill 12` one rank kills itself in step 12: MPI ends the others, the
launcher starts all again, and they begin where the newest complete checkpoint is. The program says
the same losses as if nothing had happened.

Started as a plain program, the ranks are threads of one process, and nothing needs to be installed.
"""

import argparse
import os
import signal
import tempfile
from pathlib import Path

import numpy as np

import wengert as wg
from wengert import distributed as dist
from wengert import nn
from wengert.datasets import load_sonnets
from wengert.distributed import checkpoint
from wengert.distributed.optim import ZeroRedundancyOptimizer
from wengert.nn import functional as F
from wengert.nn.parallel import DistributedDataParallel

CONTEXT, WIDTH, BATCH = 32, 32, 8


class GPT(nn.Module):
    """Characters and places, two blocks of causal attention, and the next character's logits."""

    def __init__(self, kinds):
        super().__init__()
        self.characters = nn.Embedding(kinds, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, "gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.logits = nn.Linear(WIDTH, kinds)
        self.mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)

    def forward(self, text):
        x = self.characters(text) + self.places(wg.arange(CONTEXT))
        return self.logits(self.blocks(x, mask=self.mask, is_causal=True))


def train(folder, steps, kill, weights):
    rank, size = dist.get_rank(), dist.get_world_size()
    text = load_sonnets()
    kinds = sorted(set(text))
    numbers = wg.tensor([kinds.index(c) for c in text])
    net = GPT(len(kinds))
    net.load_state_dict(weights)
    net = DistributedDataParallel(net)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), wg.optim.Adam, lr=0.003)

    first = 0
    newest = checkpoint.latest(folder)
    if newest is not None:
        saved = checkpoint.read(newest)
        net.module.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
        if rank == 0:
            print(f"going on after step {first}", flush=True)

    for step in range(first, steps):
        # Random numbers that depend on nothing but the step and the rank: a restart draws the same.
        starts = np.random.default_rng([step, rank]).integers(len(text) - CONTEXT - 1, size=BATCH)
        batch = wg.stack([numbers[s : s + CONTEXT + 1] for s in starts.tolist()])
        if step == kill and rank == size - 1 and newest is None:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        logits = net(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, len(kinds)), batch[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0 and (step + 1) % 5 == 0:
            print(f"step {step + 1:3}   loss {mean.item():.4f}", flush=True)
        if (step + 1) % 5 == 0:
            state = {"net": net.module.state_dict(), "optimizer": optimizer.shard_state_dict()}
            checkpoint.save(state | {"step": step + 1}, checkpoint_id=folder / f"{step + 1:05d}")
    held = sum(p.numel() for p in optimizer.optim.state)
    whole = sum(p.numel() for p in net.parameters())
    return f"rank {rank} of {size} keeps Adam's state of {held} of {whole} numbers"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="of the checkpoints")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--kill", type=int, metavar="STEP", help="kill the last rank in this step")
    options = parser.parse_args(argv)
    folder = options.folder or Path(tempfile.mkdtemp())
    wg.manual_seed(0)
    weights = GPT(len(set(load_sonnets()))).state_dict()  # alike on all ranks
    arguments = (folder, options.steps, options.kill, weights)
    if "WORLD_SIZE" not in os.environ:
        print(*dist.run_threads(train, 4, *arguments), sep="\n")
        return
    if options.folder is None:
        parser.error("--folder is needed: all processes write their checkpoints there")
    dist.init_process_group("mpi", timeout=120)
    print(train(*arguments), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
