"""The folder of the headers that only the library's own sources include."""

def private_headers(name):
    """The compiler's option for the folder `name` of this repository, wherever a program's workspace has it."""
    root = Label("//:BUILD.bazel").workspace_root
    return "-I" + (root + "/" if root else "") + name
