"""A character-level language model: nn.LSTM, its hidden state carried from piece to piece."""

import sys

import numpy as np
import torch
from torch import nn, optim
from torch.autograd import Variable

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
torch.set_default_dtype(torch.double)
torch.manual_seed(1)
rng = np.random.default_rng(1)
text = "the quick brown fox jumps over the lazy dog. " * 20
vocab = {c: i for i, c in enumerate(sorted(set(text)))}
encoded = torch.LongTensor([vocab[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, n, hidden, layers):
        super().__init__()
        self.encoder = nn.Embedding(n, 16)
        self.rnn = nn.LSTM(16, hidden, layers, batch_first=True)
        self.decoder = nn.Linear(hidden, n)
        self.layers, self.hidden = layers, hidden

    def forward(self, x, state):
        output, state = self.rnn(self.encoder(x), state)
        return self.decoder(output), state

    def init_hidden(self, batch):
        weight = next(self.parameters()).data
        return tuple(Variable(weight.new(self.layers, batch, self.hidden).zero_()) for _ in "hc")


net = CharRNN(len(vocab), 24, 2)
for p in net.parameters():
    p.data.copy_(torch.from_numpy(rng.uniform(-0.2, 0.2, tuple(p.size()))))
criterion = nn.CrossEntropyLoss()
optimizer = optim.RMSprop(net.parameters(), lr=0.01)
batch, length = 4, 16
pieces = encoded[: len(encoded) // batch * batch].view(batch, -1)

losses, state = [], net.init_hidden(batch)
for step in range(steps):
    i = step * length % (pieces.size(1) - length - 1)
    x, y = pieces[:, i : i + length], pieces[:, i + 1 : i + length + 1]
    state = tuple(s.detach() for s in state)
    net.zero_grad()
    output, state = net(x, state)
    loss = criterion(output.reshape(-1, len(vocab)), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5)
    optimizer.step()
    losses.append(float(loss.data))
print("loss", losses[-1])
