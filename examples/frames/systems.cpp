#include "systems.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace frames {
namespace {

constexpr float seconds = 1.0F / 60; // of a frame

vec operator+(vec a, vec b) { return {a.x + b.x, a.y + b.y}; }
vec operator-(vec a, vec b) { return {a.x - b.x, a.y - b.y}; }
vec operator*(float f, vec a) { return {f * a.x, f * a.y}; }
float length(vec a) { return std::sqrt(a.x * a.x + a.y * a.y); }

template<class F>
void for_entities(const world& w, F f) {
  rubato::for_index(std::size_t{0}, w.size(), f);
}

/// A player without hands: runs in circles.
void read_input(world& w) {
  ++w.frame;
  const float angle = static_cast<float>(w.frame % 240) / 240 * 6.2831853F;
  w.wanted[0] = {100 * std::cos(angle), 100 * std::sin(angle)};
}

/// Those near the player run away, the others come.
void think(world& w) {
  rubato::for_index(std::size_t{1}, w.size(), [&w](std::size_t i) {
    const vec way = w.position[0] - w.position[i];
    const float far = length(way);
    w.wanted[i] = far < 1 ? vec{} : (far < 100 ? -80 : 40) / far * way;
  });
}

/// Speeds change slowly; walls throw back.
void move(world& w) {
  for_entities(w, [&w](std::size_t i) {
    vec& v = w.velocity[i];
    vec& at = w.position[i];
    v = v + 0.1F * (w.wanted[i] - v);
    at = at + seconds * v;
    if (at.x < 0 || at.x > field) v.x = -v.x;
    if (at.y < 0 || at.y > field) v.y = -v.y;
    at = {std::clamp(at.x, 0.0F, field), std::clamp(at.y, 0.0F, field)};
  });
}

void animate(world& w) {
  for_entities(w, [&w](std::size_t i) {
    w.phase[i] += seconds * (1 + 0.01F * length(w.wanted[i]));
    w.phase[i] -= std::floor(w.phase[i]);
  });
}

/// A counting sort: each entity then finds its neighbours in nine cells.
void sort_into_cells(world& w) {
  std::fill(w.cell_begin.begin(), w.cell_begin.end(), 0U);
  for (const vec at : w.position) ++w.cell_begin[world::cell_of(at) + 1];
  for (std::size_t c = 1; c != w.cell_begin.size(); ++c) w.cell_begin[c] += w.cell_begin[c - 1];
  w.cell_next = w.cell_begin;
  for (std::size_t i = 0; i != w.size(); ++i)
    w.by_cell[w.cell_next[world::cell_of(w.position[i])]++] = static_cast<std::uint32_t>(i);
}

template<class F>
void for_neighbours(const world& w, std::size_t i, F f) {
  const std::size_t cell = world::cell_of(w.position[i]), row = cell / columns, column = cell % columns;
  for (std::size_t r = std::max<std::size_t>(row, 1) - 1; r != std::min(row + 2, columns); ++r)
    for (std::size_t c = std::max<std::size_t>(column, 1) - 1; c != std::min(column + 2, columns); ++c)
      for (std::size_t k = w.cell_begin[r * columns + c]; k != w.cell_begin[r * columns + c + 1]; ++k)
        if (w.by_cell[k] != i) f(w.by_cell[k]);
}

/// Reads places and writes pushes, so that the order of the entities does not matter.
void collide(world& w) {
  for_entities(w, [&w](std::size_t i) {
    vec push;
    std::uint32_t touching = 0;
    for_neighbours(w, i, [&](std::size_t other) {
      const vec away = w.position[i] - w.position[other];
      const float far = length(away);
      if (far >= reach || far == 0) return;
      ++touching;
      push = push + (reach - far) / (2 * far) * away;
    });
    w.push[i] = push;
    w.touching[i] = touching;
  });
}

void push_apart(world& w) {
  for_entities(w, [&w](std::size_t i) { w.position[i] = w.position[i] + w.push[i]; });
}

void play_sounds(world& w) { w.loudness = rubato::reduce(w.touching, std::uint64_t{0}, std::plus<>()); }

/// The camera follows the player. Where on the screen an entity is; false: nowhere.
bool on_screen(const world& w, std::size_t i, std::size_t& x, std::size_t& y) {
  const vec at = w.position[i] - w.position[0] + vec{screen_width / 2.0F, screen_height / 2.0F};
  if (!(at.x >= 0 && at.y >= 0 && at.x < screen_width && at.y < screen_height)) return false;
  x = static_cast<std::size_t>(at.x);
  y = static_cast<std::size_t>(at.y);
  return true;
}

void cull(world& w) {
  for_entities(w, [&w](std::size_t i) {
    std::size_t x = 0, y = 0;
    w.visible[i] = on_screen(w, i, x, y) ? 1 : 0;
  });
}

/// Onto one screen, so one after the other.
void draw(world& w) {
  std::fill(w.screen.begin(), w.screen.end(), std::uint8_t{0});
  for (std::size_t i = 0; i != w.size(); ++i) {
    std::size_t x = 0, y = 0;
    if (w.visible[i] == 0 || !on_screen(w, i, x, y)) continue;
    std::uint8_t& light = w.screen[y * screen_width + x];
    light = static_cast<std::uint8_t>(std::min(255.0F, static_cast<float>(light) + 64 + 128 * w.phase[i]));
  }
}

} // namespace

rubato::task_graph frame_of(world& w) {
  rubato::task_graph frame;
  const auto system = [&](const char* name, auto f) { return frame.add(name, [&w, f] { return f(w); }); };
  auto input = system("input", read_input);
  auto due = system("ai is due?", [](const world& now) { return now.frame % 4 == 1; });
  auto ai = system("ai", think);
  auto physics = system("physics", move);
  auto animation = system("animation", animate);
  auto cells = system("cells", sort_into_cells);
  auto collisions = system("collisions", collide);
  auto response = system("response", push_apart);
  auto sound = system("sound", play_sounds);
  auto culling = system("culling", cull);
  auto render = system("render", draw);

  due.after(input);
  due.on(true, ai); // in one frame of four; in the others the node is skipped
  physics.after(due, ai);
  animation.after(due, ai);
  cells.after(physics);
  collisions.after(cells);
  sound.after(collisions);
  response.after(collisions);
  culling.after(response);
  render.after(culling, animation);
  return frame;
}

} // namespace frames
