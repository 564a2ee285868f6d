# FetchContent, by git.
section 'CMake: sources' "$folder"
follow "$folder"
