# A setting that is wrong is not made: nothing is said of what it would have left behind.
graphrun check tags.pbtxt --set train.optimizer.adagrad.learning_rate=x
