/* A library that takes thread-local memory where ours has to find some as well. */
__attribute__((tls_model("initial-exec"))) __thread char taken[1024];
char* other_library_use(void);
char* other_library_use(void) { return taken; }
