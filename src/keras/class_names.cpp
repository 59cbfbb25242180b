#include "keras/class_names.h"

#include <array>

#include "config/names.h"

namespace mirrortrain::keras {
namespace {

/// Names here are Keras's, spelled in lower case: how Keras spells them no rule says.
constexpr std::array kClasses = {
    // Layers.
    "Activation", "ActivityRegularization", "AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D",
    "AdaptiveAveragePooling3D", "AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D", "Add",
    "AdditiveAttention", "AlphaDropout", "Attention", "Average", "AveragePooling1D", "AveragePooling2D",
    "AveragePooling3D", "BatchNormalization", "Bidirectional", "Concatenate", "Conv1D", "Conv1DTranspose", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Cropping1D",
    "Cropping2D", "Cropping3D", "Dense", "DepthwiseConv1D", "DepthwiseConv2D", "Dot", "Dropout", "EinsumDense", "ELU",
    "Embedding", "Flatten", "GaussianDropout", "GaussianNoise", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
    "GlobalAveragePooling3D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GroupNormalization",
    "GroupQueryAttention", "GRU", "LayerNormalization", "LeakyReLU", "LSTM", "Masking", "Maximum", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "MelSpectrogram", "Minimum", "MultiHeadAttention", "Multiply", "Permute", "PReLU",
    "ReLU", "RepeatVector", "Reshape", "ReversibleEmbedding", "RMSNormalization", "SeparableConv1D", "SeparableConv2D",
    "SimpleRNN", "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "SpectralNormalization",
    "STFTSpectrogram", "Subtract", "TimeDistributed", "UnitNormalization", "UpSampling1D", "UpSampling2D",
    "UpSampling3D", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D",
    // Preprocessing that is the same in training and later.
    "AutoContrast", "CenterCrop", "ContrastLimitedAdaptiveHistogramEqualization", "Discretization", "Hashing",
    "Normalization", "Rescaling", "Resizing",
    // Initializers; identity is a layer too.
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity", "LecunNormal", "LecunUniform",
    "Ones", "Orthogonal", "RandomNormal", "RandomUniform", "STFT", "TruncatedNormal", "VarianceScaling", "Zeros",
    // Constraints and regularizers.
    "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "L1L2", "OrthogonalRegularizer",
    // Losses, of which some are metrics too.
    "BinaryCrossentropy", "BinaryFocalCrossentropy", "CategoricalCrossentropy", "CategoricalFocalCrossentropy",
    "CategoricalGeneralizedCrossEntropy", "CategoricalHinge", "Circle", "CosineSimilarity", "CTC", "Dice", "Hinge",
    "Huber", "KLDivergence", "LogCosh", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
    "MeanSquaredLogarithmicError", "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge", "Tversky",
    // Metrics.
    "AUC", "BinaryAccuracy", "BinaryIoU", "CategoricalAccuracy", "ConcordanceCorrelation", "F1Score", "FalseNegatives",
    "FalsePositives", "FBetaScore", "IoU", "LogCoshError", "MeanIoU", "OneHotIoU", "OneHotMeanIoU",
    "PearsonCorrelation", "Precision", "PrecisionAtRecall", "R2Score", "Recall", "RecallAtPrecision",
    "RootMeanSquaredError", "SensitivityAtSpecificity", "SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy",
    "SpecificityAtSensitivity", "TopKCategoricalAccuracy", "TrueNegatives", "TruePositives",
    // Optimizers and schedules.
    "Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "Ftrl", "Lamb", "Lion", "Muon", "Nadam", "RMSprop",
    "ScheduleFreeAdamW", "SGD", "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "PiecewiseConstantDecay", "PolynomialDecay"};

}  // namespace

std::string class_named(std::string_view name) {
  const std::string wanted = config::plain(name);
  if (wanted == "piecewiseconstant") return "PiecewiseConstantDecay";
  for (const char* const known : kClasses) {
    if (config::plain(known) == wanted) return known;
  }
  return "";
}

}  // namespace mirrortrain::keras
