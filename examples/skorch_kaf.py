"""A KAF network as a scikit-learn classifier of skorch, whose options are searched by scikit-learn."""

import torch
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier
from torch import Tensor, nn

import kafnets
from kafnets.data.sensorless import load_sample


class Network(nn.Module):
    """Its arguments are searched."""

    def __init__(self, width: int = 64, dictionary_size: int = 20) -> None:
        super().__init__()
        self.layers = kafnets.mlp(48, (width,), 11, "kaf", dictionary_size=dictionary_size)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


def main(epochs: int = 20) -> float:
    torch.manual_seed(0)
    splits = load_sample()
    classifier = NeuralNetClassifier(
        Network,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.01,
        batch_size=128,
        max_epochs=epochs,
        train_split=None,
        iterator_train__shuffle=True,
        verbose=0,
    )
    search = GridSearchCV(classifier, {"module__dictionary_size": [10, 20]}, cv=2, scoring="accuracy")
    search.fit(splits.train.features, splits.train.target)
    print(search.best_params_)
    return float(search.score(splits.test.features, splits.test.target))


if __name__ == "__main__":
    print(f"accuracy {main():.3f}")
