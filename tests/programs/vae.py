"""A variational autoencoder of small pictures."""

import sys

import numpy as np
import torch
import torch.nn.functional as F
import torch.utils.data
from torch import nn, optim

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(2)
rows, columns = np.mgrid[:8, :8]
centres = rng.uniform(1, 6, (64, 2, 1, 1))
pictures = np.exp(-((rows - centres[:, 0]) ** 2 + (columns - centres[:, 1]) ** 2) / 3)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, 4)
        self.fc22 = nn.Linear(40, 4)
        self.fc3 = nn.Linear(4, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.from_numpy(rng.standard_normal(std.shape))
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
model.apply(
    lambda m: (
        isinstance(m, nn.Linear)
        and m.weight.data.copy_(torch.from_numpy(rng.normal(0, 0.2, m.weight.shape))) is not None
        and nn.init.zeros_(m.bias)
    )
)
optimizer = optim.Adam(model.parameters(), lr=1e-2)
dataset = torch.utils.data.TensorDataset(torch.as_tensor(pictures))
loader = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=False)
losses = []
for epoch in range(steps):
    model.train()
    for (data,) in loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        losses.append(loss.item() / len(data))
        optimizer.step()
model.eval()
with torch.no_grad():
    sample = model.decode(torch.zeros(1, 4)).view(8, 8)
print(f"loss {losses[-1]:.4f}, brightest {sample.max().item():.3f}")
