"""Measurements that several subjects or a training share, one formula each: tensors and configs in, numbers out."""
