# Two processes have made the update, as starts.jsonl says; one process would add the same gradients in another order.
graphrun train tags.pbtxt --out model --quiet --set train.accumulate=4 --set train.per=1 --set train.sum=BY_PROCESS > /dev/null
sed -i 's/"processes":1/"processes":2/' model/starts.jsonl
graphrun verify model --steps 1
