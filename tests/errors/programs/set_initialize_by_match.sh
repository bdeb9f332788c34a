# No mistake: a match that holds a dot.
sed 's/  validate {/  initialize { match: "*" uniform: 0.1 } initialize { match: "*.W" xavier: true }\n&/' tags.pbtxt > job.pbtxt
graphrun train job.pbtxt --dump-job --set 'train.initialize.*.W.orthogonal=true' --set 'train.initialize.*.normal=0.5' | grep -A3 'initialize {' >&2
