"""How the benchmarks make mirrortrain train a model: a configuration and settings for it, on examples that lie in memory."""
import layer_models
import sequence_models as sequences


def synthetic(examples, shape, classes):
    return f"data.train={{format: synthetic, examples: {examples}, shape: [{', '.join(map(str, shape))}], classes: {classes}}}"


def pictures(model, examples, size, classes):
    return f"models/{model}", [f"model.input_shape=[{size},{size},3]", synthetic(examples, (size, size, 3), classes)]


def lstm(examples):
    shape = (sequences.STEPS, sequences.FEATURES)
    return "fashion-lstm", [f"model.input_shape={list(shape)}",
                            f"model.layers=[{{lstm: {{units: {sequences.UNITS}}}}}, {{dense: {{units: {sequences.CLASSES}}}}}]",
                            synthetic(examples, shape, sequences.CLASSES), "data.preprocessing=[]", "data.test=null"]


def char_transformer():
    width, heads, normal = sequences.WIDTH, sequences.HEADS, "initializer: {random_normal: {stddev: 0.02}}"
    return "char-transformer", [
        f"model.input_shape=[{sequences.LENGTH}]", f"data.train.window={sequences.LENGTH}", "data.validation=null",
        f"model.blocks.block.parameters={{width: {width}, heads: {heads}, head_width: {width // heads}, inner: {4 * width}}}",
        "model.layers=["
        f"{{embedding: {{input_dim: {sequences.CHARACTERS}, output_dim: {width}, embeddings_{normal}, name: characters}}}},"
        f"{{position_embedding: {{sequence_length: {sequences.LENGTH}, {normal}}}}},"
        f"{{repeat: {{times: {sequences.LAYERS}, layers: [{{block: {{name: block}}}}]}}}},"
        "{layer_normalization: {epsilon: 1.0e-5}},"
        f"{{dense: {{units: {sequences.CHARACTERS}, use_bias: false, tied_to: characters}}}}]"]


def layer(model, examples):
    shape, layers = layer_models.LAYERS[model]
    body = [f"{{{one}}}" if ":" in one else one for one in layers] + [f"{{dense: {{units: {layer_models.CLASSES}}}}}"]
    return "fashion-lstm", [f"model.input_shape={list(shape)}", f"model.layers=[{', '.join(body)}]",
                            f"optimizer={{type: sgd, learning_rate: {layer_models.RATE}}}",
                            synthetic(examples, shape, layer_models.CLASSES), "data.preprocessing=[]", "data.test=null"]


def on_cpu(model, examples):
    """(configuration, settings) of a model that run-models times."""
    if model in layer_models.LAYERS:
        return layer(model, examples)
    if model == "lstm":
        return lstm(examples)
    if model == "char-transformer":
        return char_transformer()
    return pictures(model, examples, *((32, 10) if model == "resnet20" else (96, 1000)))


def on_gpu(model, examples):
    """(configuration, settings) of a model that `run --device cuda` times, those on Fashion-MNIST apart."""
    if model == "lstm":
        return lstm(examples)
    if model == "gpt2":  # windows of the plays, so many as there are
        return "models/gpt2", ["data.validation=null", "data.drop_remainder=true"]
    if model == "resnet50":
        return "resnet50", [synthetic(examples, (224, 224, 3), 1000)]
    return pictures({"vit": "vit-b16", "mobilenet": "mobilenet-v1"}[model], examples, 224, 1000)
