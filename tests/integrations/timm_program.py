"""Run by test_timm.py in a process of its own."""

import functools

import torch
from torch import nn

try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # it needs the compiled library for this very torch
    import tests.integrations.torchvision_stub  # noqa: F401

import timm
from timm.layers.create_act import create_act_layer

import kafnets
from kafnets.integrations.timm import register

images = torch.randn(2, 3, 32, 32)
register()
register("kaf_relu", base="relu")
plain = timm.create_model("resnet10t", num_classes=4).eval()
for activation in ("kaf", "kaf_relu", kafnets.KAF, functools.partial(kafnets.KAF, base="relu")):
    model = timm.create_model("resnet10t", act_layer=activation, num_classes=4).eval()  # inplace=True
    assert sum(isinstance(each, kafnets.KAF) for each in model.modules()) == 11
    if activation not in ("kaf", kafnets.KAF):
        model.load_state_dict(plain.state_dict(), strict=False)
        torch.testing.assert_close(model(images), plain(images))
assert isinstance(create_act_layer("relu"), nn.ReLU)
assert isinstance(create_act_layer("saf", inplace=True), kafnets.SAF)

converted = kafnets.convert(plain, {nn.ReLU: "kaf"}, example_input=images)
assert torch.equal(converted(images), plain(images))
assert [each.num_features for each in converted.modules() if isinstance(each, kafnets.KAF)][:3] == [
    24,
    32,
    64,
]
transformer = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=1, num_classes=4).eval()
converted = kafnets.convert(transformer, {nn.GELU: "kaf"}, example_input=images)
torch.testing.assert_close(converted(images), transformer(images))
kaf = converted.get_submodule("blocks.0.mlp.act")
assert isinstance(kaf, kafnets.KAF)
assert (kaf.num_features, kaf.dim) == (768, -1)
print("timm", timm.__version__)
