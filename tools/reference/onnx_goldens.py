#!/usr/bin/env python3
"""Writes tests/golden/onnx/NAME.txt: the graphs that `mirrortrain export` makes of the configurations there, after ONNX
Runtime has computed from them what `mirrortrain predict` gives.

    pip install onnx onnxruntime numpy pyyaml pillow
    tools/reference/onnx_goldens.py [--program build/mirrortrain]
"""
import argparse
import pathlib
import subprocess
import tempfile
import types

import onnx

import check_onnx

TYPES = {1: "float", 6: "int32", 7: "int64", 8: "string", 9: "bool", 11: "double"}


def shape_of(dims):
    return "[" + ", ".join(str(dim) for dim in dims) + "]"


def value_text(value):
    kind = value.type.tensor_type
    return f"{value.name}: {TYPES[kind.elem_type]} " + shape_of(dim.dim_param or dim.dim_value for dim in kind.shape.dim)


def attribute_text(attribute):
    kind = onnx.AttributeProto.AttributeType.Name(attribute.type)
    if kind == "GRAPH":
        return "{\n" + "".join(f"  {line}\n" for line in graph_text(attribute.g).splitlines()) + "}"
    if kind == "TENSOR":
        return f"{TYPES[attribute.t.data_type]} {shape_of(attribute.t.dims)}"
    if kind == "STRING":
        return attribute.s.decode()
    if kind == "STRINGS":
        return shape_of(one.decode() for one in attribute.strings)
    if kind == "FLOATS":
        return shape_of(f"{one:.6g}" for one in attribute.floats)
    return {"INT": str(attribute.i), "FLOAT": f"{attribute.f:.6g}", "INTS": shape_of(attribute.ints)}[kind]


def node_text(node):
    attributes = ", ".join(f"{one.name}={attribute_text(one)}" for one in node.attribute)
    domain = node.domain + "." if node.domain else ""
    return (f"{', '.join(node.output)} = {domain}{node.op_type}({', '.join(node.input)})"
            + (f" {{{attributes}}}" if attributes else ""))


def graph_text(graph):
    lines = [f"input {value_text(one)}" for one in graph.input]
    lines += [f"{one.name} = {TYPES[one.data_type]} {shape_of(one.dims)}" for one in graph.initializer]
    lines += [node_text(one) for one in graph.node]
    lines += [f"output {value_text(one)}" for one in graph.output]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/mirrortrain")
    program = parser.parse_args().program
    goldens = pathlib.Path(__file__).parents[2] / "tests/golden/onnx"
    for config in sorted(goldens.glob("*.yaml")):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run = folder / "run"
            subprocess.run([program, "-q", "fit", config, "--run-dir", run], check=True)
            worst = check_onnx.compare(run, types.SimpleNamespace(program=program, raw=False, data=None), folder)
            assert worst <= 1e-5, f"{config}: {worst}"
            model = onnx.load(folder / "model.onnx")
            config.with_suffix(".txt").write_text(graph_text(model.graph))
            print(f"{worst:.1e}  {config.stem}: {len(model.graph.node)} nodes")


if __name__ == "__main__":
    main()
