"""Transformer encoders run by onnxruntime, and how their files are got (extra `onnx`)."""
