# No checkpoint left to continue from.
graphrun train tags.pbtxt --out model --quiet > /dev/null
for file in model/checkpoints/*/state.json; do tr 0-9 1-90 < "$file" > changed; mv changed "$file"; done
graphrun train tags.pbtxt --out model --resume --set train.epochs=2
