"""Models for other programs: ONNX, C, and files of tensors."""

from kafnets.export.c import export_c as export_c
from kafnets.export.onnx import export_onnx as export_onnx
from kafnets.export.tensors import export_tensors as export_tensors
