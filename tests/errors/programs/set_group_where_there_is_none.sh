# A group of a job that has none.
graphrun check tags.pbtxt --set train.optimizer.group.0.factor=2
