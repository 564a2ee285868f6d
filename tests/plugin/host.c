/* host OTHER_LIBRARY PLUGIN [ANOTHER]: a program in C, which has never heard of the library, loads, uses, closes and loads
   again. ANOTHER has a copy of the library of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void* opened(char const* path) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle != NULL) return handle;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static void expect(int holds, char const* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static void use(void* plugin) {
  long (*function)(void) = NULL;
  *(void**)&function = dlsym(plugin, "rubato_plugin_use");
  expect(function != NULL, "the plug-in has its function");
  expect(function() == 117, "the results are right");
}

int main(int argc, char** argv) {
  expect(argc == 3 || argc == 4, "a library and one or two plug-ins are named");
  opened(argv[1]);
  void* plugin = opened(argv[2]);
  for (int round = 0; round != 3; ++round) {
    use(plugin);
    expect(dlclose(plugin) == 0, "it can be closed");
    plugin = opened(argv[2]);
  }
  if (argc == 3) return 0;

  /* Each takes no thread of the other's pools for one of its own. */
  void* const another = opened(argv[3]);
  use(another);
  int (*call)(int (*)(void)) = NULL;
  *(void**)&call = dlsym(plugin, "rubato_plugin_call");
  int (*own)(void) = NULL;
  *(void**)&own = dlsym(plugin, "rubato_plugin_is_worker");
  int (*foreign)(void) = NULL;
  *(void**)&foreign = dlsym(another, "rubato_plugin_is_worker");
  expect(call(own) == 1, "a worker belongs to its plug-in");
  expect(call(foreign) == 0, "a worker does not belong to the other plug-in");
  dlclose(another);
  dlclose(plugin);
  return 0;
}
