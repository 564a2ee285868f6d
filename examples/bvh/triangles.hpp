// Triangles, boxes and rays, and made-up scenes.
#pragma once

#include "shared/random_at.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bvh {

using vec = std::array<float, 3>;

inline vec operator+(const vec& a, const vec& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline vec operator-(const vec& a, const vec& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline float dot(const vec& a, const vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline vec cross(const vec& a, const vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct triangle {
  vec a, b, c;
};

inline constexpr float far_away = std::numeric_limits<float>::infinity();

/// Empty at first.
struct box {
  vec low{far_away, far_away, far_away}, high{-far_away, -far_away, -far_away};
  bool operator==(const box&) const = default;
};

// Written out: of a loop over three numbers g++ makes vectors that take twice the time.
inline vec least(const vec& a, const vec& b) {
  return {std::min(a[0], b[0]), std::min(a[1], b[1]), std::min(a[2], b[2])};
}
inline vec greatest(const vec& a, const vec& b) {
  return {std::max(a[0], b[0]), std::max(a[1], b[1]), std::max(a[2], b[2])};
}
inline box around(const box& a, const box& b) { return {least(a.low, b.low), greatest(a.high, b.high)}; }
inline box around(const triangle& t) { return around(around({t.a, t.a}, {t.b, t.b}), {t.c, t.c}); }

struct ray {
  vec origin, direction;
};

/// How far along the ray the triangle is hit; far_away if it is not (T. Möller and B. Trumbore, 1997).
inline float distance_to(const triangle& t, const ray& r) {
  const vec side = t.b - t.a, other = t.c - t.a;
  const vec p = cross(r.direction, other);
  const float determinant = dot(side, p);
  if (std::abs(determinant) < 1e-12F) return far_away;
  const vec from = r.origin - t.a;
  const float u = dot(from, p) / determinant;
  const vec q = cross(from, side);
  const float v = dot(r.direction, q) / determinant;
  if (u < 0 || v < 0 || u + v > 1) return far_away;
  const float distance = dot(other, q) / determinant;
  return distance > 0 ? distance : far_away;
}

inline vec random_place(std::uint64_t seed, std::uint64_t i) {
  const auto coordinate = [=](std::uint64_t k) {
    return static_cast<float>(example::unit_at(seed, 3 * i + k));
  };
  return {coordinate(0), coordinate(1), coordinate(2)};
}

/// Small triangles in the unit cube, nine in ten of them in clouds of some thousand: the more there are, the
/// smaller each one.
inline std::vector<triangle> random_scene(std::size_t triangles, std::uint64_t seed) {
  std::vector<triangle> scene(triangles);
  const float size = 1 / std::cbrt(static_cast<float>(triangles) + 1);
  const auto scaled = [](const vec& v, float by) { return vec{v[0] * by, v[1] * by, v[2] * by}; };
  for (std::size_t i = 0; i != triangles; ++i) {
    vec at = random_place(seed, 4 * i);
    if (i % 10 != 0) at = scaled(random_place(seed + 1, i / 4096), 0.9F) + scaled(at, 0.1F);
    scene[i] = {at, at + scaled(random_place(seed, 4 * i + 1), size),
                at + scaled(random_place(seed, 4 * i + 2), size)};
  }
  return scene;
}

/// From a random place in the unit cube to another one.
inline ray random_ray(std::uint64_t seed, std::uint64_t i) {
  const vec origin = random_place(seed + 2, 2 * i);
  return {origin, random_place(seed + 2, 2 * i + 1) - origin};
}

} // namespace bvh
