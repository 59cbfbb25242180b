#include "data/pictures/elastic.h"

#include <algorithm>
#include <limits>

#include "data/pictures/color.h"

namespace mirrortrain::data {

void draw_elastic_field(const Extents& extents, float strength, RandomNumbers& random, std::vector<float>& field) {
  const auto shorter = static_cast<float>(std::min(extents.height, extents.width)),
             longer = static_cast<float>(std::max(extents.height, extents.width));
  const float alpha = longer * 0.1f * strength, sigma = shorter * 0.05f * strength;
  const Extents plane{extents.height, extents.width, 1};
  field.assign(static_cast<std::size_t>(plane.elements()), 0);
  if (sigma <= 0) return;
  thread_local std::vector<float> noise;
  noise.resize(field.size());
  for (float& number : noise) number = static_cast<float>(random.normal()) * sigma;
  const std::int64_t size = 6 * static_cast<std::int64_t>(sigma) + 1;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  blur(noise.data(), plane, {size, size}, {sigma, sigma}, {-kAny, kAny}, field.data());
  for (float& number : field) number *= alpha;
}

}  // namespace mirrortrain::data
