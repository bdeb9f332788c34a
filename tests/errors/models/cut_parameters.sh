# Parameters of which the end is missing.
graphrun train tags.pbtxt --out model --quiet > /dev/null
for file in model/best/*/parameters.safetensors; do head -c 100 "$file" > cut; mv cut "$file"; done
graphrun evaluate model
