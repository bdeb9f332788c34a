# States of a checkpoint, hashes and all: three batches of an update are under way where each batch is an update, and more
# updates than can be counted.
for change in 's/"batches": *0/"batches": 3/' 's/"step": *[0-9]*/"step": 9223372036854775807/'; do
  rm -rf model
  graphrun train tags.pbtxt --out model --quiet > /dev/null
  for folder in model/checkpoints/step-*; do
    sed -i "$change" "$folder/state.json"
    files=
    for file in "$folder"/*.safetensors "$folder/state.json"; do
      files="$files${files:+, }\"$(basename "$file")\": {\"bytes\": $(wc -c < "$file"), \"sha256\": \"$(sha256sum < "$file" | cut -d ' ' -f 1)\"}"
    done
    echo "{\"format\": \"graphrun checkpoint\", \"version\": 1, \"files\": {$files}}" > "$folder/manifest.json"
  done
  graphrun train tags.pbtxt --out model --resume --quiet && status=0 || status=$?
done
exit $status
