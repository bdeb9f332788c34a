# No mistake: a run says why it ended, what it leaves and what comes next.
graphrun train tags.pbtxt --out model 2> said > /dev/null
graphrun train tags.pbtxt --out other --set train.epochs=0 --set train.updates=3 --set train.validate.keep_highest= 2>> said > /dev/null
grep -A1 'the training ended' said >&2
