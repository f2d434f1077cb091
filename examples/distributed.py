"""A small GPT trained on four ranks; kill one, and the others go on.

    wengert run --nproc 4 --max-restarts 3 examples/distributed.py --folder run --kill 12
    wengert run --nproc 4 --min 2 examples/distributed.py --folder run --kill 12

Each rank reads its share of ten sonnets, and the gradients are averaged, so that all ranks have the
same weights, to the last bit. Adam's state is divided among them. Every five steps all of them
write a checkpoint. With `--kill 12` one rank kills itself in step 12. By the first command MPI ends
the others, the launcher starts all again, and they begin where the newest complete checkpoint is:
the program says the same losses as if nothing had happened. By the second one the others go on by
themselves, with step 12, and take over the share of Adam's state that the dead rank had.

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
from wengert.distributed import elastic
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
    size = dist.get_world_size()
    text = load_sonnets()
    kinds = sorted(set(text))
    numbers = wg.tensor([kinds.index(c) for c in text])
    net = GPT(len(kinds))
    net.load_state_dict(weights)
    net = DistributedDataParallel(net)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), wg.optim.Adam, lr=0.003)

    def begin(state):  # at first, and again when ranks were lost
        if dist.get_rank() == 0 and state.step:
            print(f"going on after step {state.step}, on {dist.get_world_size()}", flush=True)

    def step(state):
        rank, now = dist.get_rank(), dist.get_world_size()
        # Random numbers that depend on nothing but the step and the rank: a restart draws the same.
        draws = np.random.default_rng([state.step, rank])
        starts = draws.integers(len(text) - CONTEXT - 1, size=BATCH)
        batch = wg.stack([numbers[s : s + CONTEXT + 1] for s in starts.tolist()])
        first = now == size and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if state.step == kill and rank == size - 1 and first:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        logits = net(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, len(kinds)), batch[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0 and (state.step + 1) % 5 == 0:
            print(f"step {state.step + 1:3}   loss {mean.item():.4f}", flush=True)

    state = elastic.State(net=net.module, optimizer=optimizer)
    elastic.run(step, state, steps=steps, folder=folder, save_every=5, begin=begin)
    rank, size = dist.get_rank(), dist.get_world_size()
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
    dist.init_process_group(timeout=120)  # by what started the processes: MPI, or Ray
    print(train(*arguments), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
