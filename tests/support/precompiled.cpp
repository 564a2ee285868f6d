// Compiled for the precompiled headers that the tests share; it holds nothing.
