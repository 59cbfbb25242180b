#include "strategy/variables/variable_group.h"

#include <algorithm>
#include <type_traits>

#include "base/round_up.h"

namespace mirrortrain {
namespace {

constexpr std::int64_t kLine = 64 / sizeof(float);

std::int64_t end_of_sums(const scalar::NormedSegment& variable) { return variable.first_sum + variable.sums(); }

/// Copies the table to the device's memory.
template <class Item>
Buffer on_device(const std::vector<Item>& table, Device& device) {
  Buffer copy = device.allocate(std::span(table).size_bytes());
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy(copy.data(), std::as_bytes(std::span(table)).data(), copy.bytes());
  stream->synchronize();
  return copy;
}

/// For each replica, the number of its copy: of `keys`, those that are equal share one.
std::vector<std::size_t> numbered(const std::vector<MeshIndex>& keys) {
  std::vector<MeshIndex> known;
  std::vector<std::size_t> numbers;
  for (const MeshIndex& key : keys) {
    const auto found = std::ranges::find(known, key);
    numbers.push_back(static_cast<std::size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(key);
  }
  return numbers;
}

}  // namespace

std::int64_t with_padding(std::int64_t elements) { return round_up(elements, kLine); }

std::int64_t StateShard::grain() const { return kLine * ranks; }

std::int64_t VariableGroup::add(const std::vector<std::int64_t>& of_parts, float l1, float l2, bool stores_gradient,
                                bool is_owned) {
  const std::int64_t first = elements_, elements = of_parts.front();
  variables_.push_back({first, first + elements, 0});
  is_owned_.push_back(is_owned);
  if (l1 != 0 || l2 != 0) regularized_.push_back({first, of_parts, l1, l2});
  elements_ += with_padding(elements);
  if (stores_gradient) gradient_elements_ = elements_;
  return first;
}

void VariableGroup::begin_bucket(std::int64_t grain) {
  grain_ = grain;
  elements_ = round_up(elements_, grain);
  bucket_begins_.push_back(elements_);
}

void VariableGroup::limit_buckets(std::int64_t most) {
  std::vector<std::int64_t> begins;
  most = std::max(most / grain_, std::int64_t{1}) * grain_;
  for (const GroupBucket& bucket : buckets()) {
    const std::int64_t parts = std::max((bucket.elements + most - 1) / most, std::int64_t{1});
    const std::int64_t each = round_up((bucket.elements + parts - 1) / parts, grain_);
    begins.push_back(bucket.first);
    for (std::int64_t first = each; first < bucket.elements; first += each) begins.push_back(bucket.first + first);
  }
  bucket_begins_ = std::move(begins);
}

std::vector<GroupBucket> VariableGroup::buckets() const {
  std::vector<GroupBucket> buckets;
  for (const std::int64_t first : bucket_begins_) {
    if (!buckets.empty()) buckets.back().elements = first - buckets.back().first;
    buckets.push_back({first, gradient_elements_ - first});
  }
  return buckets;
}

std::vector<GroupPiece> VariableGroup::own_pieces() const {
  std::vector<GroupPiece> pieces;
  if (!is_sharded()) {
    pieces.push_back({0, elements_, {}});
    return pieces;
  }
  if (has_owners()) return owned_variables();
  for (const GroupBucket& bucket : buckets()) {
    const std::int64_t own = bucket.elements / shard_.ranks;
    pieces.push_back({bucket.first + shard_.rank * own, own, {}});
  }
  if (pieces.empty()) pieces.push_back({0, 0, {}});  // all variables are elsewhere
  return pieces;
}

/// A piece for all that follow each other.
std::vector<GroupPiece> VariableGroup::owned_variables() const {
  std::vector<GroupPiece> pieces;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!is_owned_[i]) continue;
    const std::int64_t first = variables_[i].begin, elements = with_padding(variables_[i].end - first);
    if (!pieces.empty() && pieces.back().first + pieces.back().elements == first) {
      pieces.back().elements += elements;
    } else {
      pieces.push_back({first, elements, {}});
    }
  }
  if (pieces.empty()) pieces.push_back({0, 0, {}});
  return pieces;
}

/// Lists the variables whose norms the update measures, by their places in the pieces.
void VariableGroup::add_normed(const std::vector<GroupPiece>& pieces) {
  normed_in_.assign(pieces.size(), 0);
  if (!scalar::scales_by_norms(update_.rule)) return;
  std::vector<scalar::NormedSegment> normed;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t first = pieces[i].first, end = first + pieces[i].elements;
    for (const scalar::NormedSegment& variable : variables_) {
      if (variable.begin < first || variable.end > end) continue;
      normed.push_back({variable.begin - first, variable.end - first, norm_sums_});
      norm_sums_ = end_of_sums(normed.back());
      ++normed_in_[i];
    }
  }
  normed_ = on_device(normed, *device_);
}

/// By replica: those without a copy of their own share that of the places that have the same part.
std::vector<std::size_t> VariableGroup::copies_of_places() const {
  std::vector<MeshIndex> keys;
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    const MeshIndex& place = places_[static_cast<std::size_t>(r)];
    keys.push_back(shared() ? MeshIndex{division_.data ? place.data : 0, division_.model ? place.model : 0}
                            : MeshIndex{r, 0});
  }
  return numbered(keys);
}

void VariableGroup::allocate(const GroupMemory& memory, Device& device) {
  device_ = &device;
  shard_ = memory.shard;
  if (is_sharded()) elements_ = gradient_elements_ = round_up(elements_, grain_);
  const auto bytes = static_cast<std::size_t>(elements_) * sizeof(float);
  const auto gradient_bytes = static_cast<std::size_t>(gradient_elements_) * sizeof(float);
  if (memory.adds_gradients != nullptr && shared() && !division_.data && !has_sparse_gradients_) {
    gradients_.push_back(memory.adds_gradients->allocate(gradient_bytes));
    if (gradients_[0].data() == nullptr) gradients_.clear();  // allocated separately then
  }
  places_ = memory.places;
  copy_of_ = copies_of_places();
  microbatches_ = memory.microbatches;
  std::vector<MeshIndex> rows_of_places;
  for (const MeshIndex& place : places_) rows_of_places.push_back({place.data / microbatches_, place.model});
  rows_of_ = numbered(rows_of_places);
  const std::size_t rows = has_sparse_gradients_ ? 1 : places_.size() / static_cast<std::size_t>(microbatches_);
  while (gradients_.size() < rows) gradients_.push_back(device.allocate(gradient_bytes));
  while (microbatches_ > 1 && written_.size() < rows) written_.push_back(device.allocate(gradient_bytes));
  if (shared() && memory.compresses && !has_sparse_gradients_) residual_ = device.allocate(bytes);
  const bool keeps_gradients = memory.keeps_gradients && (gradient_elements_ > 0 || !has_sparse_gradients_);
  const std::vector<GroupPiece> own = own_pieces();
  add_normed(own);
  const std::size_t normed = normed_.bytes() / sizeof(scalar::NormedSegment);
  std::int64_t own_elements = 0, chunks = 0;
  for (const GroupPiece& piece : own) {
    own_elements += piece.elements;
    chunks += piece.chunks();
  }
  const std::size_t own_bytes = static_cast<std::size_t>(own_elements) * sizeof(float),
                    chunk_bytes = static_cast<std::size_t>(chunks) * sizeof(double);
  copies_.resize(std::ranges::max(copy_of_) + 1);
  for (Copy& copy : copies_) {
    copy.values = device.allocate(bytes);
    for (int slot = 0; slot < update_.slots(); ++slot) copy.slots.push_back(device.allocate(own_bytes));
    copy.regularization = device.allocate(is_regularized() ? chunk_bytes : 0);
    copy.accumulated = device.allocate(keeps_gradients ? own_bytes : 0);
    copy.squares = device.allocate(keeps_gradients ? chunk_bytes : 0);
    copy.norms = device.allocate(static_cast<std::size_t>(norm_sums_) * sizeof(scalar::NormSums));
    copy.ratios = device.allocate(normed * sizeof(float));
    const int first_user = first_replica(static_cast<int>(&copy - copies_.data()));
    const int part = division_.model ? places_[static_cast<std::size_t>(first_user)].model : 0;
    point_to_memory(copy, static_cast<std::size_t>(part));
  }
}

/// Makes the copy's pieces. `part`: of divided variables.
void VariableGroup::point_to_memory(Copy& copy, std::size_t part) {
  copy.pieces = own_pieces();
  std::int64_t element = 0, chunk = 0, normed = 0;  // of the pieces before
  const auto from = [](const Buffer& buffer, std::int64_t first, auto* type) {
    auto* const begin = buffer.as<std::remove_pointer_t<decltype(type)>>();
    return begin == nullptr ? nullptr : begin + first;
  };
  const auto floats = [&](const Buffer& buffer) { return from(buffer, element, static_cast<float*>(nullptr)); };
  const auto doubles = [&](const Buffer& buffer) { return from(buffer, chunk, static_cast<double*>(nullptr)); };
  for (GroupPiece& piece : copy.pieces) {
    std::vector<scalar::RegularizedSegment> segments;
    for (const auto& [first, elements, l1, l2] : regularized_) {
      const std::int64_t begin = std::max(first - piece.first, std::int64_t{0}),
                         end = std::min(first + elements[part] - piece.first, piece.elements);
      if (begin < end) segments.push_back({begin, end, l1, l2});
    }
    const Buffer& own = copy.segments.emplace_back(on_device(segments, *device_));
    scalar::UpdateGroupView& view = piece.view;
    view.regularized = {own.as<scalar::RegularizedSegment>(), segments.size()};
    view.traits = update_.traits;
    view.master = copy.values.as<float>() + piece.first;
    for (std::size_t slot = 0; slot < copy.slots.size(); ++slot) view.slots[slot] = floats(copy.slots[slot]);
    if (update_.traits.averages && !copy.slots.empty()) view.average = floats(copy.slots.back());
    const std::size_t normed_here = normed_in_[static_cast<std::size_t>(&piece - copy.pieces.data())];
    view.normed = {from(normed_, normed, static_cast<scalar::NormedSegment*>(nullptr)), normed_here};
    view.norms = copy.norms.as<scalar::NormSums>();
    view.ratios = from(copy.ratios, normed, static_cast<float*>(nullptr));
    view.regularization = doubles(copy.regularization);
    view.accumulated = floats(copy.accumulated);
    view.squares = doubles(copy.squares);
    element += piece.elements;
    chunk += piece.chunks();
    normed += static_cast<std::int64_t>(normed_here);
  }
}

bfloat16* VariableGroup::rounded(int replica) {
  Copy& of_replica = copies_[copy_of_[static_cast<std::size_t>(replica)]];
  if (of_replica.rounded.data() == nullptr) {
    of_replica.rounded = device_->allocate(static_cast<std::size_t>(elements_) * sizeof(bfloat16));
    for (GroupPiece& piece : of_replica.pieces) piece.view.rounded = of_replica.rounded.as<bfloat16>() + piece.first;
  }
  return of_replica.rounded.as<bfloat16>();
}

int VariableGroup::first_replica(int copy) const {
  return static_cast<int>(std::ranges::find(copy_of_, static_cast<std::size_t>(copy)) - copy_of_.begin());
}

std::vector<int> VariableGroup::summed_replicas(int copy) const {
  std::vector<int> replicas;
  const int part = places_[static_cast<std::size_t>(first_replica(copy))].model;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const bool has_copy = copy_of_[r] == static_cast<std::size_t>(copy);
    const bool is_added = places_[r].data % microbatches_ > 0;
    if (has_copy && places_[r].model == part && !is_added) replicas.push_back(static_cast<int>(r));
  }
  return replicas;
}

std::size_t VariableGroup::bytes() const {
  std::size_t bytes = normed_.bytes() + residual_.bytes();
  for (const auto* gradients : {&gradients_, &written_}) {
    for (const Buffer& gradient : *gradients) bytes += gradient.bytes();
  }
  for (const Copy& copy : copies_) {
    bytes += copy.values.bytes() + copy.accumulated.bytes() + copy.regularization.bytes() + copy.squares.bytes() +
             copy.norms.bytes() + copy.ratios.bytes() + copy.rounded.bytes();
    for (const auto* buffers : {&copy.slots, &copy.segments}) {
      for (const Buffer& buffer : *buffers) bytes += buffer.bytes();
    }
  }
  return bytes;
}

}  // namespace mirrortrain
