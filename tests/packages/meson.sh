section Meson "$folder"
follow "$folder"
