"""An image classifier of inverted residuals: depthwise convolutions, BatchNorm, ReLU6 in place."""

import sys

import numpy as np
import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 8
torch.set_default_dtype(torch.float64)


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super().__init__(
            nn.Conv2d(
                in_planes, out_planes, kernel_size, stride, padding, groups=groups, bias=False
            ),
            nn.BatchNorm2d(out_planes),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio):
        super().__init__()
        hidden_dim = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        layers = [] if expand_ratio == 1 else [ConvBNReLU(inp, hidden_dim, kernel_size=1)]
        layers.extend(
            [
                ConvBNReLU(hidden_dim, hidden_dim, stride=stride, groups=hidden_dim),
                nn.Conv2d(hidden_dim, oup, 1, 1, 0, bias=False),
                nn.BatchNorm2d(oup),
            ]
        )
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        # expand_ratio, planes, blocks, stride
        settings = [[1, 8, 1, 1], [6, 12, 2, 2], [6, 16, 2, 2]]
        features = [ConvBNReLU(3, 8, stride=2)]
        planes = 8
        for t, c, n, s in settings:
            for i in range(n):
                features.append(InvertedResidual(planes, c, s if i == 0 else 1, t))
                planes = c
        features.append(ConvBNReLU(planes, 32, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(32, num_classes))
        rng = np.random.default_rng(2)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                fan_out = m.weight.size(0) * m.weight[0][0].numel()
                noise = rng.normal(0, (2 / fan_out) ** 0.5, m.weight.shape)
                m.weight.data.copy_(torch.from_numpy(noise))
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x):
        x = self.features(x)
        x = x.mean([2, 3])
        return self.classifier(x)


rng = np.random.default_rng(0)
images = torch.from_numpy(rng.normal(size=(16, 3, 32, 32)))
labels = torch.from_numpy(rng.integers(0, 5, 16))
model = MobileNetV2(5)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(
    model.parameters(), lr=0.02, momentum=0.9, weight_decay=4e-5, nesterov=True
)
losses = []
for _ in range(steps):
    model.train()
    loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        held = criterion(model(images[:8]), labels[:8])
    losses += [loss.item(), held.item()]
print(f"loss {losses[-2]:.4f}, with running statistics {losses[-1]:.4f}")
