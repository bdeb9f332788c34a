# Messages without names go by their match or number.
sed 's/  validate {/  initialize { match: "*" uniform: 0.1 } initialize { match: "*.W" xavier: true }\n&/' tags.pbtxt > job.pbtxt
graphrun check job.pbtxt --set train.initialize.2.uniform=0.2 --set "train.initialize.E.uniform=0.2" --set train.initialize.uniform=0.2
