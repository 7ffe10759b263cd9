"""A KAF network as a LightningModule, with parameter groups for its coefficients."""

from typing import Any

import lightning.pytorch as lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import kafnets
from kafnets.data.sensorless import load_sample


class Classifier(lightning.LightningModule):
    """Only the activation differs from other networks."""

    def __init__(self) -> None:
        super().__init__()
        self.network = kafnets.mlp(48, (64,), 11, "kaf")

    def training_step(self, batch: tuple[Tensor, Tensor], number: int) -> Tensor:
        x, y = batch
        return nn.functional.cross_entropy(self.network(x), y)

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(kafnets.param_groups(self, weight_decay=1e-5), lr=0.01)


def main(epochs: int = 20) -> float:
    torch.manual_seed(0)
    splits = load_sample()
    x, y = torch.from_numpy(splits.train.features), torch.from_numpy(splits.train.target)
    model = Classifier()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True))
    with torch.no_grad():
        right = model.network(torch.from_numpy(splits.test.features)).argmax(1).numpy() == splits.test.target
    return float(right.mean())


if __name__ == "__main__":
    print(f"accuracy {main():.3f}")
