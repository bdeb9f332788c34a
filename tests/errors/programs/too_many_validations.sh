# An epoch of 1 batch has at most 1 validation.
graphrun train tags.pbtxt --out model --quiet --set train.validate.times_per_epoch=100000 > /dev/null
