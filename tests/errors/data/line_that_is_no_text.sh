# Lines before the wrong one are answered.
graphrun train tags.pbtxt --out model --quiet > /dev/null
printf 'the cat\n\377\nthe dog\n' > lines
code=0
graphrun infer model lines --rows 1 --bad-lines stop > answers || code=$?
wc -l < answers >&2
exit $code
