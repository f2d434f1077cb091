"""A GAN with convolutions, generator and discriminator taking turns."""

import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 12
torch.set_default_dtype(torch.float64)
torch.backends.cudnn.benchmark = True
rng = np.random.default_rng(4)
nz, ngf, ndf = 6, 4, 4


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.copy_(torch.from_numpy(rng.normal(0.0, 0.1, m.weight.shape)))
    elif classname.find("BatchNorm") != -1:
        nn.init.constant_(m.weight.data, 1.0)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 3, 1, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=0.002, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.002, betas=(0.5, 0.999))
losses = []
for step in range(steps):
    real = torch.from_numpy(np.sign(rng.standard_normal((8, 1, 1, 1))) * np.ones((8, 1, 8, 8)))
    netD.zero_grad()
    label = torch.full((8,), 1.0, dtype=real.dtype)
    errD_real = criterion(netD(real), label)
    errD_real.backward()
    fake = netG(torch.from_numpy(rng.standard_normal((8, nz, 1, 1))))
    label.fill_(0.0)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1.0)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()
    losses += [(errD_real + errD_fake).item(), errG.item()]
print("discriminator", losses[-2], "generator", losses[-1])
