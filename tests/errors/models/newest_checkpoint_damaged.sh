# The checkpoint before the damaged one is used.
graphrun train tags.pbtxt --out model --quiet > /dev/null
file=$(ls -d model/checkpoints/* | tail -n 1)/slots.safetensors
file=$(ls -d model/checkpoints/* | tail -n 1)/parameters.safetensors
tr '\000' '\001' < "$file" > changed
mv changed "$file"
graphrun train tags.pbtxt --out model --resume --quiet --set train.epochs=2 > /dev/null
