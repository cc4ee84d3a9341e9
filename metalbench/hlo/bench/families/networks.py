"""Inference of convolutional networks; all weights are arguments.

The arguments are random. A layer divides by the standard deviation of its sums, so that numbers
have about the same size in all layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function

Shape = tuple[int, ...]


def convolve(x: Any, w: Any, stride: int = 1) -> Any:
    """Return a convolution of images (batch, height, width, channels) that pads with zeros."""
    return lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pool(x: Any, size: int, stride: int) -> Any:
    """Return the maxima of windows."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")


def list_layer_shapes(size: int, channels: int, features: int) -> list[Shape]:
    """Return the shapes of a normalised convolution: weights, scale, offset, mean, deviation."""
    return [(size, size, channels, features), *[(features,)] * 4]


def apply_layer(x: Any, weights: Iterator[Any], stride: int = 1) -> Any:
    """Return a convolution after batch normalisation for inference."""
    w, scale, offset, mean, deviation = (next(weights) for _ in range(5))
    terms = w.shape[0] * w.shape[1] * w.shape[2]
    factor = scale * lax.rsqrt(deviation * deviation + terms)
    return (convolve(x, w, stride) - mean) * factor + offset


# A network of six convolutions, as VGG has them (Simonyan and Zisserman, 2014).

CNN_FEATURES = (32, 32, 64, 64, 128, 128)
CNN_IMAGES = (8, 32, 32, 3)
CNN_CLASSES = 10


def list_cnn_shapes() -> list[Shape]:
    """Return the shapes of the arguments."""
    shapes: list[Shape] = [CNN_IMAGES]
    channels = CNN_IMAGES[-1]
    for features in CNN_FEATURES:
        shapes += list_layer_shapes(3, channels, features)
        channels = features
    side = CNN_IMAGES[1] // 8
    return [*shapes, (side * side * channels, CNN_CLASSES), (CNN_CLASSES,)]


def cnn(x: Any, *weights: Any) -> Any:
    """Return the probabilities of classes."""
    left = iter(weights)
    for number in range(len(CNN_FEATURES)):
        x = jax.nn.relu(apply_layer(x, left))
        if number % 2:
            x = pool(x, 2, 2)
    flat = x.reshape(x.shape[0], -1)
    return jax.nn.softmax(flat @ next(left) / flat.shape[1] ** 0.5 + next(left))


# ResNet18 (He et al., 2015): eighteen layers with weights.

RESNET_FEATURES = (64, 128, 256, 512)
RESNET_IMAGES = (1, 224, 224, 3)
RESNET_CLASSES = 1000


def list_resnet_shapes() -> list[Shape]:
    """Return the shapes of the arguments."""
    shapes: list[Shape] = [RESNET_IMAGES, *list_layer_shapes(7, 3, 64)]
    channels = 64
    for features in RESNET_FEATURES:
        for _ in range(2):
            shapes += list_layer_shapes(3, channels, features)
            shapes += list_layer_shapes(3, features, features)
            if channels != features:
                shapes += list_layer_shapes(1, channels, features)
            channels = features
    return [*shapes, (channels, RESNET_CLASSES), (RESNET_CLASSES,)]


def resnet18(x: Any, *weights: Any) -> Any:
    """Return the probabilities of classes."""
    left = iter(weights)
    x = pool(jax.nn.relu(apply_layer(x, left, 2)), 3, 2)
    for features in RESNET_FEATURES:
        for number in range(2):
            stride = 2 if number == 0 and features != RESNET_FEATURES[0] else 1
            y = apply_layer(jax.nn.relu(apply_layer(x, left, stride)), left)
            shortcut = apply_layer(x, left, stride) if x.shape != y.shape else x
            x = jax.nn.relu(y + shortcut)
    features = x.mean((1, 2))
    return jax.nn.softmax(features @ next(left) / features.shape[1] ** 0.5 + next(left))


NETWORK: dict[str, Function] = {
    "cnn": (cnn, list_cnn_shapes()),
    "resnet18": (resnet18, list_resnet_shapes()),
}
