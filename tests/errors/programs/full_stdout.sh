# No room for the answers.
graphrun train tags.pbtxt --out model --quiet > /dev/null
echo 'the cat' | graphrun infer model > /dev/full
