"""Two LSTM cells that continue sine waves, fitted by L-BFGS."""

import sys

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.lstm2 = nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 12, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 12, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 12, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 12, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2
np.random.seed(0)
torch.manual_seed(0)
x = np.arange(30) + np.random.randint(-20, 20, 6).reshape(6, 1)
data = np.sin(x / 4.0).astype("float64")
input, target = torch.from_numpy(data[2:, :-1]), torch.from_numpy(data[2:, 1:])
test_input, test_target = torch.from_numpy(data[:2, :-1]), torch.from_numpy(data[:2, 1:])
seq = Sequence()
seq.double()
for p in seq.parameters():
    p.data.copy_(torch.from_numpy(np.random.uniform(-0.3, 0.3, p.shape)))
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=10)
losses = []
for i in range(steps):

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        losses.append(loss.item())
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=10)
        loss = criterion(pred[:, :-10], test_target)
print("test loss:", loss.item(), pred.detach().numpy().shape)
