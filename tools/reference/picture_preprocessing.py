"""What Keras 3.15's preprocessing layers make of small pictures, the transformation given: tests/golden/picture-preprocessing.json.

Each case: the step as data.preprocessing has it, what it draws (a factor of equal bounds where that settles it), the
picture's size, and the pixels. Pixels go in as picture() below computes them. Where Keras 3.15's code does not do what
its documentation says (random_crop outside of training and of a smaller picture), the reference is smart_resize."""

import json
import pathlib

import keras
import numpy as np

layers = keras.layers


def picture(height, width, channels):
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return ((x * 37 + y * 91 + c * 53 + x * y * 7) % 256).astype("float32")


cases = []


def case(step, options, size, pixels, **drawn):
    pixels = np.asarray(pixels)[0]
    cases.append({
        "step": {step: options}, "size": list(size), "drawn": drawn, "shape": list(pixels.shape),
        "pixels": [round(float(v), 4) for v in pixels.flatten()],
    })


def batch(size):
    return picture(*size)[None]


sizes = [(7, 9, 3), (8, 6, 1)]
for size in sizes:
    for height, width in [(5, 4), (12, 11)]:
        for interpolation in ["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"]:
            for antialias in [False, True]:
                options = {"height": height, "width": width, "interpolation": interpolation, "antialias": antialias}
                case("resizing", options, size, layers.Resizing(**options)(batch(size)))
    for height, width in [(5, 8), (8, 5)]:
        for keep in ["crop_to_aspect_ratio", "pad_to_aspect_ratio"]:
            options = {"height": height, "width": width, keep: True, "fill_value": 9.0}
            case("resizing", options, size, layers.Resizing(**options)(batch(size)))
    for height, width in [(4, 5), (7, 6), (10, 4)]:
        options = {"height": height, "width": width}
        case("center_crop", options, size, layers.CenterCrop(**options)(batch(size)))
    for mode in ["horizontal", "vertical", "horizontal_and_vertical"]:
        layer = layers.RandomFlip(mode)
        for flips in [False, True]:
            given = {"flips": np.full((1, 1, 1, 1), flips)}
            case("random_flip", {"mode": mode}, size, layer.transform_images(batch(size), given), flips=flips)
    options = {"height": 4, "width": 3}
    for top, left in [(0, 0), (1, 2), (3, 3)]:
        pixels = layers.RandomCrop(**options).transform_images(batch(size), (top, left))
        case("random_crop", options, size, pixels, top=top, left=left)
    for height, width in [(4, 3), (10, 4)]:
        pixels = keras.preprocessing.image.smart_resize(batch(size), (height, width))
        case("random_crop", {"height": height, "width": width}, size, pixels, evaluates=True)
    for fill_mode in ["constant", "nearest", "reflect", "wrap"]:
        for interpolation in ["nearest", "bilinear"]:
            fill = {"fill_mode": fill_mode, "interpolation": interpolation, "fill_value": 5.0}
            for down, right in [(0.3, -0.2), (-0.9, 0.7)]:
                options = {"height_factor": [down, down], "width_factor": [right, right]} | fill
                layer = layers.RandomTranslation(**options)
                case("random_translation", options, size, layer(batch(size), training=True))
            for factor in [0.1, -0.3]:
                options = {"factor": [factor, factor]} | fill
                case("random_rotation", options, size, layers.RandomRotation(**options)(batch(size), training=True))
    for factor in [0.4, 1.7]:
        layer = layers.RandomContrast(0.9, value_range=(20, 200))
        pixels = layer.transform_images(batch(size), {"contrast_factor": np.full((1, 1, 1, 1), factor, "float32")})
        case("random_contrast", {"factor": 0.9, "value_range": [20, 200]}, size, pixels, factor=factor)

size = (7, 9, 3)
for value_range in [(0, 255), (-20.0, 300.0)]:
    wide = {"value_range": list(value_range)}
    for name, layer, options in [
        ("random_brightness", layers.RandomBrightness, {"factor": [0.2, 0.2]}),
        ("random_brightness", layers.RandomBrightness, {"factor": [-0.3, -0.3]}),
        ("random_saturation", layers.RandomSaturation, {"factor": [0.3, 0.3]}),
        ("random_saturation", layers.RandomSaturation, {"factor": [0.8, 0.8]}),
        ("random_color_degeneration", layers.RandomColorDegeneration, {"factor": [0.4, 0.4]}),
        ("random_sharpness", layers.RandomSharpness, {"factor": [0.1, 0.1]}),
        ("random_sharpness", layers.RandomSharpness, {"factor": [0.9, 0.9]}),
        ("random_posterization", layers.RandomPosterization, {"factor": [3, 3]}),
        ("random_invert", layers.RandomInvert, {"factor": [1, 1]}),
        ("random_gaussian_blur", layers.RandomGaussianBlur, {"factor": [1, 1], "kernel_size": 5, "sigma": [0.8, 0.8]}),
        ("solarization", layers.Solarization, {"addition_factor": [0, 0], "threshold_factor": [0.5, 0.5]}),
        ("auto_contrast", layers.AutoContrast, {}),
        ("equalization", layers.Equalization, {}),
        ("equalization", layers.Equalization, {"bins": 40}),
        ("random_color_jitter", layers.RandomColorJitter,
         {"brightness_factor": [0.1, 0.1], "contrast_factor": [0.0, 0.0], "saturation_factor": [0.6, 0.6]}),
    ]:
        if name == "equalization" and value_range != (0, 255):
            continue  # Keras compares a list with a tuple
        if name == "solarization":  # the lower ends are not multiplied by 255
            given = {"additions": np.full((1, 1, 1, 1), 30.0, "float32"), "thresholds": np.full((1, 1, 1, 1), 90.0, "float32")}
            pixels = layer(**options | wide).transform_images(batch(size), given)
            case(name, options | wide, size, pixels, addition=30.0, threshold=90.0)
            continue
        case(name, options | wide, size, layer(**options | wide)(batch(size), training=True))
    for turn in [0.2, -0.35]:
        given = {"factor": np.full((1,), turn, "float32")}
        layer = layers.RandomHue(0.5, value_range=value_range)
        case("random_hue", {"factor": 0.5} | wide, size, layer.transform_images(batch(size), given), turn=turn)
case("random_grayscale", {"factor": 1.0}, size, layers.RandomGrayscale(1.0)(batch(size), training=True))
for fill_mode in ["constant", "reflect"]:
    for interpolation in ["nearest", "bilinear"]:
        fill = {"fill_mode": fill_mode, "interpolation": interpolation, "fill_value": 5.0}
        for height, width in [(0.3, -0.4), (-0.2, None)]:
            options = {"height_factor": [height, height], "width_factor": width and [width, width]} | fill
            case("random_zoom", options, size, layers.RandomZoom(**options)(batch(size), training=True))
        options = {"x_factor": 0.5, "y_factor": 0.5} | fill
        layer = layers.RandomShear(**options)
        given = {"shear_factor": np.array([[0.3, -0.2]], "float32"), "input_shape": (1, *size)}
        case("random_shear", options, size, layer.transform_images(batch(size), given), x=0.3, y=-0.2)

for large in [(19, 26, 3), (16, 16, 1), (5, 3, 1)]:
    for options in [{}, {"clip_limit": 1.5, "tile_grid_size": [2, 3]}, {"clip_limit": 0.0, "tile_grid_size": [3, 2]},
                    {"value_range": [-20.0, 300.0]}]:
        if large == (5, 3, 1) and options.get("tile_grid_size") is None:
            continue  # TensorFlow cannot mirror a picture that often
        layer = layers.ContrastLimitedAdaptiveHistogramEqualization(**options)
        case("contrast_limited_adaptive_histogram_equalization", options, large, layer(batch(large)))
for interpolation in ["nearest", "bilinear"]:
    for corners in [[[0, 0], [6.5, 0], [0, 7.25], [9.5, 4]], [[0, 0], [11, 0], [0, 4], [6, 8]]]:
        options = {"interpolation": interpolation, "fill_value": 5.0}
        layer = layers.RandomPerspective(**options)
        start = np.array([[[0, 0], [8, 0], [0, 6], [8, 6]]], "float32")
        given = {"apply_perspective": np.array([True]), "start_points": start, "end_points": np.array([corners], "float32")}
        case("random_perspective", options, size, layer.transform_images(batch(size), given), corners=corners)
    right, down = np.mgrid[0:7, 0:9].astype("float32") * [[[0.31]], [[-0.17]]] - [[[1.2]], [[0.4]]]
    y, x = np.mgrid[0:7, 0:9]
    for fill_mode in ["constant", "nearest"]:  # Keras mirrors the two ends differently
        options = {"interpolation": interpolation, "fill_mode": fill_mode, "fill_value": 5.0}
        planes = [
            keras.ops.image.map_coordinates(
                picture(*size)[..., c], np.stack([y + down, x + right]).astype("float32"),
                order=int(interpolation == "bilinear"), fill_mode=fill_mode, fill_value=5.0)
            for c in range(3)
        ]
        case("random_elastic_transform", options, size, np.stack(planes, -1)[None],
             right=right.flatten().tolist(), down=down.flatten().tolist())

# Those of the transforms of which rand_augment and aug_mix are composed that draw nothing for a factor [a, a].
parts = {}
for name, layer in [("rand_augment", layers.RandAugment(factor=(0.3, 0.3))), ("aug_mix", layers.AugMix(factor=(0.3, 0.3)))]:
    parts[name] = {
        part: [round(float(v), 4) for v in np.asarray(getattr(layer, part)(batch(size), training=True)).flatten()]
        for part in ["random_translation", "random_rotation", "random_brightness", "random_color_degeneration",
                     "random_sharpness", "auto_contrast", "equalization"]
    }

random = np.random.default_rng(3)
adapted = []
for shape in [(50, 3), (6, 4, 5, 2)]:
    examples = (random.normal(size=shape) * [1, 20, 300][: shape[-1]] + [0, 5, -7][: shape[-1]]).astype("float32")
    layer = layers.Normalization()
    layer.adapt(examples)
    adapted.append({
        "shape": list(shape), "examples": [float(v) for v in examples.flatten()],
        "mean": [float(v) for v in np.asarray(layer.mean).flatten()],
        "variance": [float(v) for v in np.asarray(layer.variance).flatten()],
        "normalized": [float(v) for v in np.asarray(layer(examples)).flatten()],
    })

folder = pathlib.Path(__file__).parents[2] / "tests" / "golden"
lines = ",\n".join(json.dumps(one) for one in cases)
more = ",\n".join(json.dumps(one) for one in adapted)
(folder / "picture-preprocessing.json").write_text(f'{{"cases": [\n{lines}\n],\n"parts": {json.dumps(parts)},\n"adapted": [\n{more}\n]}}\n')
print(len(cases), "cases")
