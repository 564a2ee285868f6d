// What a program reaches of the library. All else is hidden in a shared library, and may change freely.
#pragma once

/// Before a function, or the name of a class: the library exports it. For what a public header
/// declares, and for what inline code and templates of internal headers call. docs/plugins.md
#define RUBATO_API [[gnu::visibility("default")]]
