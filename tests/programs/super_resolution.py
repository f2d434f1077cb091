"""Super-resolution by sub-pixel convolution, with a data set, a schedule and a checkpoint."""

import os
import sys
import tempfile
from math import log10

import numpy as np
import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4
torch.set_default_dtype(torch.float64)


class Waves(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        y, x = np.mgrid[:16, :16] / 16
        a = rng.uniform(-6, 6, (n, 3, 1, 1))
        self.images = np.sin(a[:, 0] * x + a[:, 1] * y + a[:, 2])[:, None]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        return torch.from_numpy(image[:, ::2, ::2].copy()), torch.from_numpy(image)


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        rng = np.random.default_rng(9)
        gain = init.calculate_gain("relu")
        for conv in (self.conv1, self.conv2, self.conv3):
            fan_in = conv.weight[0].numel()
            weights = rng.normal(0, gain / fan_in**0.5, conv.weight.shape)
            conv.weight.data.copy_(torch.from_numpy(weights))
            init.zeros_(conv.bias)


def checkpoint(epoch):
    path = os.path.join(folder, f"model_epoch_{epoch}.pth")
    torch.save(
        {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path
    )
    return path


model = Net(upscale_factor=2)
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
train_loader = DataLoader(Waves(24, 0), batch_size=8, shuffle=False)
test_loader = DataLoader(Waves(8, 1), batch_size=4)
losses = []
with tempfile.TemporaryDirectory() as folder:
    for epoch in range(1, steps + 1):
        model.train()
        for input, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(input), target)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            psnr = sum(10 * log10(1 / criterion(model(x), y).item()) for x, y in test_loader) / len(
                test_loader
            )
        scheduler.step(-psnr)
        losses.append(psnr)
        saved = torch.load(checkpoint(epoch), map_location="cpu", weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
print(f"PSNR {psnr:.3f} dB")
