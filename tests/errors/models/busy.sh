# Two processes never write one folder.
mkdir model
echo 'graph: ""' > model/job.pbtxt
printf "process 123 on machine 'a'\n" > model/run.lock
flock --no-fork model/run.lock graphrun train tags.pbtxt --out model --resume
