// The systems of the game, and which of them runs after which.
#pragma once

#include "world.hpp"

#include <rubato/task_graph.hpp>

namespace frames {

/// A frame of the world: built once, run 60 times a second. Each system is a node, and most of them loop over
/// all entities, in parallel with other systems and within themselves. The world must outlive the graph.
rubato::task_graph frame_of(world& w);

} // namespace frames
