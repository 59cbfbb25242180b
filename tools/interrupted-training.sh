# For tests that interrupt a training: the training, and what must not depend on interruptions. Sourced.

# Writes the configuration to run.yaml.
write_configuration() {
  cat > run.yaml <<'YAML'
seed: 5
data:
  global_batch_size: 16
  train: {format: synthetic, examples: 640, shape: [16], classes: 4, seed: 1}
  validation: {format: synthetic, examples: 64, shape: [16], classes: 4, seed: 2}
  test: {format: synthetic, examples: 64, shape: [16], classes: 4, seed: 3}
model:
  input_shape: [16]
  layers:
    - dense: {units: 32, activation: relu}
    - dropout: {rate: 0.2}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: adam
strategy: {devices: [cpu:0, cpu:1], threads_per_replica: 1}
training: {epochs: 10}
checkpoint: {every_steps: 7}
logging: {every_steps: 1}
YAML
}

# The events of a run without what no two runs share.
timeless() {
  sed -E 's/, "(seconds|examples_per_second|waiting_for_data)": [^,}]*//g; s/, "waiting": \[[^]]*\]//g' "$1/metrics.jsonl"
}

# A run's events and weights.
result() {
  timeless "$1" | sha256sum
  sha256sum < "$1/model.safetensors"
}
