"""onnx.checker, with shape inference, on every model of a folder: check_models.py FOLDER"""
import glob
import os
import sys

import onnx

paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx")))
if not paths:
    sys.exit(f"{sys.argv[1]}: no models there")
for path in paths:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    print(f"{os.path.basename(path)}: onnx.checker {onnx.__version__} accepts it: {len(model.graph.node)} nodes")
