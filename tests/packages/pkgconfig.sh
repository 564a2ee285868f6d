section pkg-config "$folder"
follow "$folder"
