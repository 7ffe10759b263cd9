"""A KAF network trained with accelerate: any number of devices, mixed precision, one loop."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import kafnets
from kafnets.data.sensorless import load_sample


def main(epochs: int = 20) -> float:
    torch.manual_seed(0)
    splits = load_sample()
    x, y = torch.from_numpy(splits.train.features), torch.from_numpy(splits.train.target)
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    model = kafnets.mlp(48, (64,), 11, "kaf")
    optimizer = torch.optim.Adam(kafnets.param_groups(model, weight_decay=1e-5), lr=0.01)
    batches = DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for _ in range(epochs):
        for features, target in batches:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.cross_entropy(model(features), target))
            optimizer.step()
    with torch.no_grad():
        right = model(torch.from_numpy(splits.test.features)).argmax(1).numpy() == splits.test.target
    return float(right.mean())


if __name__ == "__main__":
    print(f"accuracy {main():.3f}")
