"""Deep Q-learning on the pole and cart, whose physics are below."""

import random
import sys
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class CartPole:
    def reset(self):
        self.state = rng.uniform(-0.05, 0.05, 4)
        return self.state

    def step(self, action):
        x, v, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * spin**2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * temp) / (
            0.5 * (4.0 / 3.0 - 0.1 * np.cos(angle) ** 2 / 1.1)
        )
        push = temp - 0.05 * turn * np.cos(angle) / 1.1
        self.state = self.state + 0.02 * np.array([v, push, spin, turn])
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 32)
        self.layer2 = nn.Linear(32, 2)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
torch.set_default_dtype(torch.float64)
random.seed(3)
rng = np.random.default_rng(3)
device = (
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)
policy_net, target_net = DQN().to(device), DQN().to(device)
for p in policy_net.parameters():
    p.data = torch.from_numpy(rng.uniform(-0.3, 0.3, p.shape)).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory, env, losses = ReplayMemory(1000), CartPole(), []


def optimize_model():
    if len(memory) < 32:
        return
    batch = Transition(*zip(*memory.sample(32)))
    mask = torch.tensor([s is not None for s in batch.next_state], device=device, dtype=torch.bool)
    following = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(32, device=device)
    with torch.no_grad():
        next_values[mask] = target_net(following).max(1).values
    expected = (next_values * 0.99) + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    losses.append(loss.item())


state = torch.tensor(env.reset(), device=device).unsqueeze(0)
for t in range(steps):
    if random.random() > 0.5:
        with torch.no_grad():
            action = policy_net(state).max(1).indices.view(1, 1)
    else:
        action = torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)
    observation, reward, done = env.step(action.item())
    next_state = None if done else torch.tensor(observation, device=device).unsqueeze(0)
    memory.push(state, action, next_state, torch.tensor([reward], device=device))
    state = torch.tensor(env.reset(), device=device).unsqueeze(0) if done else next_state
    optimize_model()
    target, policy = target_net.state_dict(), policy_net.state_dict()
    for key in policy:
        target[key] = policy[key] * 0.05 + target[key] * 0.95
    target_net.load_state_dict(target)
print("steps", len(losses), "loss", losses[-1])
