# It comes out empty, and the lines after it are answered.
graphrun train tags.pbtxt --out model --quiet > /dev/null
printf 'the cat\n\377\nthe dog\n' > lines
code=0
graphrun infer model lines --rows 1 > answers || code=$?
wc -l < answers >&2
exit $code
