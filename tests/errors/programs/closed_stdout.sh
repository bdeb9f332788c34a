# Nowhere to write to.
graphrun train tags.pbtxt --out model --quiet > /dev/null
echo 'the cat' | graphrun infer model >&-
